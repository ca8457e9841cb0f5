import CofferCore
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@Suite(.serialized) struct SQLiteEngineTests {
  let origin = StoreOrigin()

  @Test func oneFileIsOpenedOnceHoweverItsPathIsWritten() async throws {
    let directory = try TemporaryDirectory()
    try FileManager.default.createSymbolicLink(
      atPath: directory.path("link.db"), withDestinationPath: directory.path("store.db"))
    let first = try await SQLiteEngine.open(at: directory.path("store.db"))
    let others = [
      try await SQLiteEngine.open(at: directory.path("./store.db")),
      try await SQLiteEngine.open(at: directory.path("link.db")),
    ]
    #expect(others.allSatisfy { $0.path == first.path })
    _ = try await first.entry(KeyName("a"))  // Opens a reader, unless reading the journal already did.
    #expect(try openDescriptors(of: first.path) == openDescriptors(of: others[0].path))
    let before = try openDescriptors(of: first.path)
    let another = try await SQLiteEngine.open(at: directory.path("store.db"))
    #expect(try openDescriptors(of: first.path) == before, "a second open must share the first one's connections")
    // Closing one handle leaves the others alone.
    try await first.close()
    try await others[0].commit(WriteBatch([.put(KeyName("a"), Data("1".utf8))]), from: origin)
    #expect(try await another.entry(KeyName("a"))?.value == Data("1".utf8))
    for engine in others + [another] { try await engine.close() }
    #expect(try openDescriptors(of: first.path) == 0, "the last close must close the file")
  }

  @Test func aHandleThatNobodyClosesClosesItself() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    do {
      let engine = try await SQLiteEngine.open(at: path)
      try await engine.commit(WriteBatch([.put(KeyName("a"), Data("1".utf8))]), from: origin)
    }
    try await eventually("the file is closed") { try openDescriptors(of: path) == 0 }
  }

  @Test func filesAreForThisUserAlone() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("new/deep/store.db"))
    try await engine.commit(WriteBatch([.put(KeyName("a"), Data("1".utf8))]), from: origin)
    for (name, mode) in [("new", 0o700), ("new/deep", 0o700)] {
      #expect(try permissions(directory.path(name)) == mode)
    }
    for name in try FileManager.default.contentsOfDirectory(atPath: directory.path("new/deep")) {
      #expect(try permissions(directory.path("new/deep/\(name)")) == 0o600, "\(name)")
    }
    try await engine.close()
  }

  @Test func relaxedAndFullCommitsMix() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    try await withThrowingTaskGroup(of: StoreCommit.self) { [origin] group in
      for index in 0..<400 {
        group.addTask {
          let batch = WriteBatch(
            [.put(try KeyName("k\(index)"), Data("\(index)".utf8))], durability: index % 3 == 0 ? .full : .relaxed)
          return try await engine.commit(batch, from: origin)
        }
      }
      var revisions: Set<StoreRevision> = []
      for try await commit in group { revisions.insert(commit.revision) }
      #expect(revisions.count == 400)
    }
    try await engine.flush()
    #expect(engine.latestRevision == StoreRevision(400))
    try await engine.close()
  }

  @Test func theLogStartsAgainAndStaysSmall() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    // Writes 40 MB through the log, whose threshold is 4 MB.
    for index in 0..<2_500 {
      let value = Data(repeating: UInt8(truncatingIfNeeded: index), count: 16_000)
      try await engine.commit(
        WriteBatch([.put(KeyName("k\(index % 10)"), value)], durability: index % 50 == 0 ? .full : .relaxed),
        from: origin)
    }
    let attributes = try FileManager.default.attributesOfItem(atPath: engine.path + "-wal")
    let size = try #require(attributes[.size] as? NSNumber).intValue
    #expect(size < 20_000_000, "the log has grown to \(size) bytes")
    try await engine.close()
  }

  @Test func aLogThatOneLargeValueHasBlownUpShrinksAgain() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    try await engine.commit(WriteBatch([.put(KeyName("large"), Data(count: 60 << 20))]), from: origin)
    try await engine.commit(WriteBatch([.delete(KeyName("large"))]), from: origin)
    let deadline = ContinuousClock.now + .seconds(30)
    var size = Int.max
    while size > 8 << 20, ContinuousClock.now < deadline {
      try await engine.commit(WriteBatch([.put(KeyName("k"), Data("\(size)".utf8))]), from: origin)
      let attributes = try FileManager.default.attributesOfItem(atPath: engine.path + "-wal")
      size = try #require(attributes[.size] as? NSNumber).intValue
    }
    #expect(size <= 8 << 20, "the log still has \(size) bytes")
    try await engine.close()
  }

  @Test func snapshotsInsideOfEachOtherNeedNoLimit() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    @Sendable func nest(_ depth: Int) async throws -> Int {
      guard depth > 0 else { return 0 }
      return try await engine.withSnapshot { _ in try await nest(depth - 1) + 1 }
    }
    #expect(try await nest(100) == 100)
    try await engine.commit(WriteBatch([.put(KeyName("a"), Data())]), from: origin)
    #expect(try await engine.entry(KeyName("a")) != nil)
    try await engine.close()
  }

  // Requirement 1.69
  @Test func aFileOfTheFirstFormatOpensForEver() async throws {
    let directory = try TemporaryDirectory()
    let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Golden/format-1.db")
    try FileManager.default.copyItem(at: golden, to: directory.url.appendingPathComponent("store.db"))
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    #expect(engine.latestRevision == StoreRevision(3))
    #expect(try await engine.entry(KeyName("greeting"))?.value == Data("hello".utf8))
    #expect(try await engine.entry(KeyName("empty"))?.value == Data())
    #expect(try await engine.entry(KeyName("caf\u{e9}"))?.revision == StoreRevision(2))
    #expect(try await engine.entry(KeyName("gone")) == nil)
    var heard: [StoreCommit] = []
    for await change in engine.changes(since: .zero) {
      guard case .commit(let commit) = change else { break }
      heard.append(commit)
      if commit.revision == StoreRevision(3) { break }
    }
    #expect(heard.map(\.changed.keys.count) == [3, 1, 0])
    #expect(heard.last?.changed.prefixes == [KeyName("go")])
    #expect(heard.first?.transaction == UUID(uuidString: "6B29FC40-CA47-1067-B31D-00DD010662DA"))
    try await engine.close()
  }
}

func permissions(_ path: String) throws -> Int {
  let attributes = try FileManager.default.attributesOfItem(atPath: path)
  return try #require(attributes[.posixPermissions] as? NSNumber).intValue & 0o777
}

/// Returns the number of descriptors of this process that refer to the file.
func openDescriptors(of path: String) throws -> Int {
  let folder = "/proc/self/fd"
  return try FileManager.default.contentsOfDirectory(atPath: folder).filter {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == path
  }.count
}
