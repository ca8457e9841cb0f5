import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests of several processes that use one file.
@Suite(.blocking, .serialized) struct ProcessTests {
  // Requirement 0.6
  @Test func threeProcessesLoseNoUpdate() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let helpers = try (0..<3).map { _ in try HelperProcess(["increment", path, "200"]) }
    for helper in helpers {
      _ = try helper.lines()
      #expect(helper.wait() == 0)
    }
    let engine = try await SQLiteEngine.open(at: path)
    let entry = try #require(try await engine.entry(KeyName("counter")))
    #expect(String(decoding: entry.value, as: UTF8.self) == "600")
    #expect(engine.latestRevision == StoreRevision(600))
    try await engine.close()
  }

  @Test func manyProcessesMayCreateOneStoreAtOnce() async throws {
    for round in 0..<6 {
      let directory = try TemporaryDirectory()
      let path = directory.path("store.db")
      let helpers = try (0..<6).map { try HelperProcess(["write", path, "relaxed", "w\($0)", "3"]) }
      for helper in helpers { #expect(try helper.lines().last == "ack 2", "round \(round)") }
      let engine = try await SQLiteEngine.open(at: path)
      #expect(engine.latestRevision == StoreRevision(18), "round \(round)")
      try await engine.close()
    }
  }

  /// A process may still have the files of a deleted database open.
  @Test func aNewDatabaseSharesNoLogWithADeletedOne() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let key = KeyName("k")
    try await SQLiteEngine.open(at: path).close()
    let helper = try HelperProcess(["hold-open", path])
    _ = try helper.line()
    let old = try FileHandle(forReadingFrom: URL(filePath: path + "-shm"))
    unlink(path)
    var engine = try await SQLiteEngine.open(at: path)
    var (held, present) = (stat(), stat())
    #expect(fstat(old.fileDescriptor, &held) == 0 && stat(path + "-shm", &present) == 0)
    #expect(held.st_ino != present.st_ino)
    try await engine.commit(WriteBatch([.put(key, Data("new".utf8))]), from: StoreOrigin())
    helper.kill()
    helper.wait()
    #expect(try await engine.entry(key)?.value == Data("new".utf8))
    try await engine.close()
    engine = try await SQLiteEngine.open(at: path)
    #expect(try await engine.entry(key)?.value == Data("new".utf8))
    try await engine.close()
  }

  /// Such a commit syncs nothing, so commits of other processes are not known to survive power loss.
  @Test func aFullCommitThatWritesNothingDoesNotVouchForOthers() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    func durableMark() throws -> UInt64 {
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path + "-wake"))
      return bytes.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 32, as: UInt64.self) } >> 16
    }
    let engine = try await SQLiteEngine.open(at: path)
    let key = KeyName("k")
    try await engine.commit(WriteBatch([.put(key, Data())]), from: StoreOrigin())
    let helper = try HelperProcess(["write", path, "relaxed"])
    while let line = try helper.line(), line != "ack 20" {}
    helper.kill()
    helper.wait()
    #expect(try durableMark() == 1)
    await #expect(throws: StorageError.self) {
      try await engine.commit(WriteBatch([.require(key, nil), .delete(key)]), from: StoreOrigin())
    }
    #expect(try durableMark() == 1)
    try await engine.commit(WriteBatch([.put(key, Data())]), from: StoreOrigin())
    #expect(try durableMark() == engine.latestRevision.rawValue)
    try await engine.close()
  }

  @Test func aWriterThatDiesBeforeTheBellIsFoundByTheSlowPoll() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    let stream = engine.changes(since: nil)
    let first = Task { () -> StoreChange? in
      for await change in stream { return change }
      return nil
    }
    let helper = try HelperProcess(["die-before-bell", path])
    #expect(try helper.line() == "ready")
    helper.tell("go")
    #expect(try helper.lines().isEmpty)
    let change = try #require(try await finish(first, within: .seconds(30)))
    guard case .commit(let commit) = change else {
      Issue.record("\(change)")
      return
    }
    #expect(commit.changed.keys == [KeyName("silent")])
    #expect(engine.latestRevision == commit.revision)
    try await engine.close()
  }

  @Test func aDeletedWakeUpFileIsReplaced() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    let stream = engine.changes(since: nil)
    try FileManager.default.removeItem(atPath: path + "-wake")
    let helper = try HelperProcess(["write", path, "relaxed", "w", "1"])
    _ = try helper.lines()
    let first = Task { () -> StoreChange? in
      for await change in stream { return change }
      return nil
    }
    #expect(try await finish(first, within: .seconds(30)) != nil)
    #expect(engine.latestRevision == StoreRevision(1))
    try await engine.close()
  }

  // Requirement 1.34
  @Test func anotherProcessesCommitEndsTheLifeOfACachedRevision() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    #expect(engine.latestRevision == .zero)
    let helper = try HelperProcess(["write", path, "full", "w", "2"])
    #expect(try helper.lines().last == "ack 1")
    // No subscriber and no waiting: the revision is in memory that both processes map.
    #expect(engine.latestRevision == StoreRevision(2))
    #expect(engine.recentCommits(after: StoreRevision(1))?.map(\.changed.keys.count) == [2])
    try await engine.close()
  }
}
