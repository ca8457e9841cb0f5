import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferSQLite

/// Tests of the write connection, which the first commit opens.
@Suite(.blocking, .serialized) struct LazyWriterTests {
  private func commit(_ engine: SQLiteEngine, _ key: KeyName, _ durability: StoreDurability) async throws {
    try await engine.commit(WriteBatch([.put(key, Data([1]))], durability: durability), from: StoreOrigin())
  }

  @Test(arguments: [StoreDurability.relaxed, .full])
  func aWriterThatCannotBeOpenedFailsTheCommitAndTheNextOneTriesAgain(_ durability: StoreDurability) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await commit(engine, "first", durability)
    try await engine.close()
    let again = try await SQLiteEngine.open(at: path)
    #expect(try await again.entry("first") != nil)
    // The reader has the log open; another connection finds a directory in its place.
    let log = path + "-wal"
    #expect(rename(log, log + ".away") == 0 && mkdir(log, 0o700) == 0)
    let error = await #expect(throws: StorageError.self) { try await commit(again, "second", durability) }
    #expect(error != nil && error?.code != .closed)
    #expect(rmdir(log) == 0 && rename(log + ".away", log) == 0)
    try await commit(again, "second", durability)
    #expect(try await again.entry("second") != nil)
    try await again.close()
  }

  /// The caller's thread may be that of the user interface.
  @Test func onlySmallCommitsRunOnTheCallersThread() async throws {
    let directory = try TemporaryDirectory()
    let threads = Locked<(caller: pthread_t, isCaller: [Bool])>((pthread_self(), []))
    var configuration = SQLiteEngine.Configuration()
    configuration.afterCommit = { _ in
      threads.withLock { $0.isCaller.append(pthread_equal($0.caller, pthread_self()) != 0) }
    }
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    try await commit(engine, "first", .full)
    let removals = try (0..<65).map { WriteBatch.Operation.delete(try KeyName("k\($0)")) }
    let batches: [([WriteBatch.Operation], isSmall: Bool)] = [
      ([.put("k", Data(count: 64 << 10))], true), ([.put("k", Data(count: (64 << 10) + 1))], false),
      (Array(removals.dropLast()), true), (removals, false), ([.clear(prefix: "k")], false),
      ([.clear(prefix: nil)], false),
    ]
    let deadline = ContinuousClock.now + .seconds(60)
    for (operations, isSmall) in batches {
      // The writer's thread may still be ending the commit before.
      repeat {
        threads.withLock { $0.caller = pthread_self() }
        try await engine.commit(WriteBatch(operations, durability: .relaxed), from: StoreOrigin())
      } while isSmall && threads.withLock { $0.isCaller.last } != true && ContinuousClock.now < deadline
      #expect(threads.withLock { $0.isCaller.last } == isSmall, "\(operations.count)")
    }
    try await engine.close()
  }

  @Test func aFirstCommitNeverGoesIntoAnotherFile() async throws {
    let directory = try TemporaryDirectory()
    let (path, other) = (directory.path("store.db"), directory.path("other.db"))
    for path in [path, other] {
      let engine = try await SQLiteEngine.open(at: path)
      try await commit(engine, "first", .full)
      try await engine.close()
    }
    let engine = try await SQLiteEngine.open(at: path)
    #expect(rename(other, path) == 0)
    let error = await #expect(throws: StorageError.self) { try await commit(engine, "second", .full) }
    #expect(error?.code == .closed)
    try await engine.close()
    let again = try await SQLiteEngine.open(at: path)
    #expect(try await again.entry("second") == nil)
    try await again.close()
  }

  @Test func aFirstCommitTouchesNeitherAnotherFileNorTheLogBesideIt() async throws {
    let directory = try TemporaryDirectory()
    let (path, other) = (directory.path("store.db"), directory.path("other.db"))
    let engine = try await SQLiteEngine.open(at: other)
    try await commit(engine, "first", .full)
    try await engine.close()
    let helper = try HelperProcess(["hammer", path, "full", "w", "50", "10"])
    #expect(try helper.line() == "ready")
    let log = path + "-wal"
    let store = try await SQLiteEngine.open(at: path)
    helper.tell("go")
    _ = try helper.lines()
    helper.wait()
    #expect(try await store.entry("w/1000001") != nil)
    func contents(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }
    let before = (try contents(other), try contents(log))
    #expect(!before.1.isEmpty && rename(other, path) == 0)
    let error = await #expect(throws: StorageError.self) { try await commit(store, "second", .full) }
    #expect(error?.code == .closed)
    #expect(try contents(path) == before.0 && contents(log) == before.1)
    try await store.close()
    #expect(try contents(path) == before.0)
  }

  @Test func aFirstCommitNeedsTheLogThatWasOpened() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await commit(engine, "first", .full)
    try await engine.close()
    let again = try await SQLiteEngine.open(at: path)
    let log = path + "-wal"
    #expect(rename(log, log + ".away") == 0)
    for _ in 0..<2 {
      let error = await #expect(throws: StorageError.self) { try await commit(again, "second", .full) }
      #expect(error?.code == .unavailable, "\(String(describing: error))")
    }
    #expect(rename(log + ".away", log) == 0)
    try await commit(again, "second", .full)
    try await again.close()
  }

  @Test func aFirstCommitAfterAnOlderCopyWasPutBackAssignsNoRevisionTwice() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await commit(engine, "first", .full)
    try await engine.close()
    let older = try Data(contentsOf: URL(fileURLWithPath: path))
    let next = try await SQLiteEngine.open(at: path)
    try await commit(next, "second", .full)
    let newest = next.latestRevision
    try await next.close()
    let again = try await SQLiteEngine.open(at: path)
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try handle.write(contentsOf: older)
    let error = await #expect(throws: StorageError.self) { try await commit(again, "third", .full) }
    #expect(error?.code == .closed)
    #expect(again.latestRevision == newest)
    try await again.close()
    try handle.close()
  }

  @Test func aFirstCommitFollowsThoseOfAnotherProcess() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let other = try HelperProcess(["hammer", path, "full", "w", "50", "10"])
    #expect(try other.line() == "ready")
    let engine = try await SQLiteEngine.open(at: path)
    #expect(engine.latestRevision == .zero)
    other.tell("go")
    _ = try other.lines()
    other.wait()
    let commit = try await engine.commit(WriteBatch([.put("mine", Data([1]))]), from: StoreOrigin())
    #expect(commit.revision == StoreRevision(51))
    #expect(try await engine.entry("w/1000009")?.revision == StoreRevision(50))
    try await engine.close()
  }

  @Test func openingReadingAndClosingChangesNoFile() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await commit(engine, "first", .full)
    try await engine.close()
    func contents() throws -> [String: Data] {
      let names = try FileManager.default.contentsOfDirectory(atPath: directory.url.path)
      return try names.reduce(into: [:]) { $0[$1] = try Data(contentsOf: directory.url.appendingPathComponent($1)) }
    }
    let before = try contents()
    let again = try await SQLiteEngine.open(at: path)
    #expect(try await again.entry("first") != nil)
    let second = try await SQLiteEngine.open(at: path)
    try await second.close()  // Another handle on the store, which has no commits to wait for.
    try await again.close()
    #expect(try contents() == before)
  }

  @Test func aStoreWithoutCommitsIsInUseEvenAfterItsMemoryIsReleased() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    await engine.releaseMemory()
    #expect(LockHolder.isUsed(StoreFile(path: path, busyTimeout: 0)) == true)
    #expect(try await engine.entry("first") == nil)
    try await engine.close()
  }
}
