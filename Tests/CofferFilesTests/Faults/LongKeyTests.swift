import CofferCore
import CofferFileSystem
import CofferFiles
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Keys whose file names are hashes, so that a file in `names` holds the key.
@Suite(.blocking, .serialized) struct LongKeyTests {
  private static let long = String(repeating: "k", count: 300)

  @Test func manyTasksMaySaveOneLongKeyForTheFirstTime() async throws {
    let directory = try StoreDirectory()
    let engines = [try await directory.open(), try await directory.open()]
    for round in 0..<40 {
      let key = try KeyName("\(round)/\(Self.long)")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<6 {
          group.addTask {
            try await engines[task % 2].commit(WriteBatch([.put(key, Data("\(task)".utf8))]), from: StoreOrigin())
          }
        }
        try await group.waitForAll()
      }
    }
    for engine in engines { try await engine.close() }
    try await expectAllAreNamed(directory, count: 40)
  }

  @Test func manyProcessesMaySaveTheSameLongKeysForTheFirstTime() async throws {
    let directory = try StoreDirectory()
    try await directory.open().close()
    let helpers = try (0..<3).map { _ in try directory.run("files-write", "full", Self.long, "40") }
    for helper in helpers {
      let lines = try helper.lines()
      #expect(lines.last == "ack 39", "\(lines.last ?? "nothing")")
    }
    try await expectAllAreNamed(directory, count: 80)
  }

  /// The name files are the only source of the keys once the journal is deleted.
  private func expectAllAreNamed(_ directory: StoreDirectory, count: Int) async throws {
    #expect(try directory.names(in: "names").count == count)
    #expect(try directory.names(in: "staged").isEmpty)
    for suffix in ["", "-wake"] { unlink(directory.control("journal.db" + suffix)) }
    let engine = try await directory.open()
    #expect(try await values(engine).count == count)
    try await engine.close()
  }

  enum Damage: String, CaseIterable, Sendable {
    case missing, empty, cut, flipped, longer, link
  }

  private func damage(_ path: String, _ damage: Damage) throws {
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    try FileManager.default.removeItem(atPath: path)
    switch damage {
    case .missing: return
    case .link: return try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: "/dev/null")
    case .empty: bytes = Data()
    case .cut: bytes.removeLast()
    case .flipped: bytes[bytes.startIndex] ^= 1
    case .longer: bytes += Data(repeating: 0x6B, count: 2_000)
    }
    try bytes.write(to: URL(fileURLWithPath: path))
  }

  @Test("A damaged name file is repaired from the journal when the store is opened", arguments: Damage.allCases)
  func mendedByOpening(_ kind: Damage) async throws {
    let directory = try await StoreDirectory.filled()
    let name = FileName(try KeyName(FileScenario.longKey)).string
    try damage(directory.control("names/" + name), kind)
    let engine = try await directory.open()
    #expect(try await values(engine) == FileScenario.before)
    try await engine.close()
    #expect(
      try Data(contentsOf: URL(fileURLWithPath: directory.control("names/" + name))) == Data(FileScenario.longKey.utf8))
  }

  @Test("A damaged name file is repaired by the next write of its key", arguments: Damage.allCases)
  func mendedBySaving(_ kind: Damage) async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await directory.open()
    let key = try KeyName(FileScenario.longKey)
    let name = FileName(key).string
    try damage(directory.control("names/" + name), kind)
    try await engine.commit(WriteBatch([.put(key, Data("again".utf8))]), from: StoreOrigin())
    #expect(try Data(contentsOf: URL(fileURLWithPath: directory.control("names/" + name))) == Data(key.string.utf8))
    try await engine.close()
  }

  @Test("An edit of a value is delivered although the file with its key is missing")
  func heard() async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await directory.open()
    let key = try KeyName(FileScenario.longKey)
    let stream = engine.changes(since: nil)
    let hearing = Task { () -> Bool in
      for await change in stream {
        if case .commit(let commit) = change, commit.changed.contains(key) { return true }
      }
      return false
    }
    try damage(directory.control("names/" + FileName(key).string), .missing)
    try directory.replace(FileScenario.longKey, "edited")
    #expect(try await finish(hearing, within: .seconds(20)))
    #expect(try directory.names(in: "names") == [FileName(key).string])
    try await engine.close()
  }

  @Test("Unfinished name files of killed writers are removed after an hour, and not before")
  func leftovers() async throws {
    let directory = try await StoreDirectory.filled()
    let (old, young) = (directory.control("staged/1a.new"), directory.control("staged/2b.new"))
    for path in [old, young] { try overwrite(path, "half a na") }
    var times = [timeval(tv_sec: time(nil) - 3_700, tv_usec: 0), timeval(tv_sec: time(nil) - 3_700, tv_usec: 0)]
    #expect(utimes(old, &times) == 0)
    try await directory.open().close()
    #expect(try directory.names(in: "staged") == ["2b.new"])
  }
}
