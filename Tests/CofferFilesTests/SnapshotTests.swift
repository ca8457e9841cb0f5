import CofferCore
import CofferFiles
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Snapshots read the values of their revision, even when another process replaces the files.
@Suite(.blocking, .serialized) struct SnapshotTests {
  private let origin = StoreOrigin()

  private func reads(_ helper: HelperProcess) throws -> [String] {
    var lines: [String] = []
    while let line = try helper.line(), line != "read" { lines.append(line) }
    return lines
  }

  /// The number of descriptors that this process has open for a file.
  private func descriptors(of path: String) throws -> Int {
    let folder = "/proc/self/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).count {
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\($0)")) == path
    }
  }

  private var old: [String] {
    FileScenario.before.sorted { $0.key < $1.key }.map { "value \($0.key.prefix(8)) \($0.value)" }
  }

  /// The intents of another handle's commits are not taken for the content of the slots.
  @Test func aSnapshotKeepsWhatAnotherHandleHadWritten() async throws {
    let directory = try StoreDirectory()
    let (first, second) = (try await directory.open(), try await directory.open())
    let keys = try ["once", "twice"].map { try KeyName($0) }
    let origin = origin
    @Sendable func put(_ engine: SlotEngine, _ key: KeyName, _ value: String) async throws {
      try await engine.commit(WriteBatch([.put(key, Data(value.utf8))]), from: origin)
    }
    try await put(first, keys[1], "v0")
    for key in keys { try await put(first, key, "v1") }
    try await second.withSnapshot { snapshot in
      try await put(second, keys[1], "v2")
      try await second.commit(WriteBatch([.delete(keys[0])]), from: origin)
      let seen = try await snapshot.entries(keys)
      #expect(seen.map { $0?.value } == [Data("v1".utf8), Data("v1".utf8)])
    }
    for engine in [first, second] { try await engine.close() }
  }

  @Test func aSnapshotElsewhereKeepsWhatIsReplacedHere() async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await directory.open()
    let helper = try directory.run("files-snapshot")
    #expect(try reads(helper) == old)
    try await engine.commit(FileScenario.batch(), from: origin)
    // A second version replaces the first, which no snapshot contains; one key is deleted and written in turn.
    try await engine.commit(FileScenario.single(), from: origin)
    try await engine.commit(WriteBatch([.delete(KeyName("keep"))]), from: origin)
    try await engine.commit(
      WriteBatch([
        .put(KeyName("keep"), Data("1".utf8)), .delete(KeyName("keep")), .put(KeyName("keep"), Data("2".utf8)),
      ]),
      from: origin)
    #expect(try await engine.entry(KeyName("keep"))?.value == Data("2".utf8))
    let kept = try directory.names(in: "retained")
    #expect(kept.count >= FileScenario.before.count, "\(kept)")
    helper.tell("read again")
    #expect(try reads(helper) == old)
    #expect(try await values(engine)["theme"] == "single")
    helper.tell("end the snapshot")
    #expect(try helper.line() == "ended")
    try await engine.commit(WriteBatch([.put(KeyName("later"), Data("x".utf8))]), from: origin)
    // The writer cleans up after it has responded.
    try await eventually("the old values are removed") { try directory.names(in: "retained").isEmpty }
    #expect(try directory.names(in: "staged") == [])
    helper.tell("close")
    #expect(helper.wait() == 0)
    try await engine.close()
  }

  /// The store retains the newest replaced values; a snapshot that reads an older one throws.
  @Test(arguments: [(bytes: 100, count: 1_000), (bytes: 1 << 20, count: 2)])
  func whatIsKeptForASnapshotHasALimit(_ limit: (bytes: Int, count: Int)) async throws {
    let directory = try StoreDirectory()
    let engine = try await directory.open { configuration in
      configuration.retainedBytes = limit.bytes
      configuration.retainedCount = limit.count
    }
    let keys = try ["a", "b", "c", "d"].map { try KeyName($0) }
    @Sendable func put(_ key: KeyName, _ letter: String) async throws {
      try await engine.commit(
        WriteBatch([.put(key, Data(String(repeating: letter, count: 40).utf8))]), from: origin)
    }
    for key in keys { try await put(key, "1") }
    try await engine.withSnapshot { snapshot in
      for key in keys { try await put(key, "2") }
      for key in keys.prefix(2) {
        let error = await #expect(throws: StorageError.self) { try await snapshot.entries([key]) }
        #expect(error?.code == .unavailable && error?.key == key, "\(error.map(String.init(describing:)) ?? "")")
      }
      let kept = try await snapshot.entries(Array(keys.suffix(2)))
      #expect(kept.allSatisfy { $0?.value == Data(String(repeating: "1", count: 40).utf8) })
      #expect(try await engine.retainedCount() == 2)
    }
    // They are removed when the snapshot ends, without another commit.
    try await eventually("the old values are removed") {
      try await engine.retainedCount() == 0 && directory.names(in: "retained").isEmpty
    }
    try await engine.close()
  }

  @Test func aThousandSnapshotsHoldOneLockFile() async throws {
    let directory = try await StoreDirectory.filled()
    let engine = try await directory.open()
    let lock = directory.control("owners")
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<1_000 {
        group.addTask {
          try await engine.withSnapshot { snapshot in
            _ = try await snapshot.page(prefix: nil, after: nil, limit: 10)
            return try descriptors(of: lock)
          }
        }
      }
      // Two that begin at the same moment may both create one.
      for try await count in group { #expect((1...8).contains(count)) }
    }
    try await engine.close()
  }

  @Test func theRetainedFilesOfADeadSnapshotGoAtTheNextOpen() async throws {
    let directory = try await StoreDirectory.filled()
    let helper = try directory.run("files-snapshot")
    #expect(try reads(helper) == old)
    let engine = try await directory.open()
    try await engine.commit(FileScenario.batch(), from: origin)
    try await engine.close()
    #expect(try directory.names(in: "retained").count >= 4)
    helper.kill()
    helper.wait()
    _ = try await Aftermath(directory: directory, comment: "after a killed snapshot").check(mustBeNew: true)
  }

  /// A writer is killed while it retains values that a snapshot in a third process still reads.
  @Test func aKilledWriterTakesNothingFromASnapshot() async throws {
    for step in 6...16 {
      let directory = try await StoreDirectory.filled()
      let helper = try directory.run("files-snapshot")
      #expect(try reads(helper) == old)
      let writer = try directory.run("files-commit", "\(step)")
      let steps = try writer.lines()
      writer.wait()
      let engine = try await directory.open()
      helper.tell("read again")
      #expect(try reads(helper) == old, "killed at \(step) \(steps.last ?? "")")
      try await engine.close()
      helper.tell("end the snapshot")
      #expect(try helper.line() == "ended")
      helper.tell("close")
      helper.wait()
      _ = try await Aftermath(directory: directory, comment: "killed at \(step) under a snapshot").check()
    }
  }
}
