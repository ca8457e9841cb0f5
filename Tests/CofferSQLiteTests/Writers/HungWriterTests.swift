import CofferCSQLite
import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests that a hanging process affects others only where they need its lock.
@Suite(.blocking, .serialized) struct HungWriterTests {
  @Test func aStoreWhoseWriterHangsIsOpenedAndRead() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    try await store("value", at: path)
    let holder = try HelperProcess(["hold-lock", path])
    #expect(try holder.line() == "holding")
    kill(holder.process.processIdentifier, SIGSTOP)
    // Without the wake-up file the revision has to be read from the journal.
    try FileManager.default.removeItem(atPath: path + "-wake")
    var configuration = SQLiteEngine.Configuration()
    configuration.busyTimeout = 200
    let engine = try await SQLiteEngine.open(at: path, configuration: configuration)
    #expect(engine.latestRevision == StoreRevision(1))
    #expect(try await engine.entry(KeyName("key"))?.value == Data("value".utf8))
    for durability in [StoreDurability.full, .relaxed] {
      do {
        try await engine.commit(WriteBatch([.put(KeyName("k"), Data())], durability: durability), from: StoreOrigin())
        Issue.record("committed although another connection holds the lock")
      } catch let error as StorageError {
        #expect(error.code == .busy)
        #expect(error.message.contains("process \(holder.process.processIdentifier) (CofferTestHelpe"), "\(error)")
      }
    }
    kill(holder.process.processIdentifier, SIGKILL)
    holder.wait()
    try await engine.commit(WriteBatch([.put(KeyName("k"), Data())]), from: StoreOrigin())
    try await engine.close()
  }

  /// Each caller has its own deadline and does not wait for those of earlier callers.
  @Test func transactionsThatWaitTogetherGiveUpTogether() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    try await store("value", at: path)
    let holder = try HelperProcess(["hold-lock", path])
    #expect(try holder.line() == "holding")
    var configuration = SQLiteEngine.Configuration()
    configuration.busyTimeout = 1_000
    let engine = try await SQLiteEngine.open(at: path, configuration: configuration)
    let database = SQLiteDatabase(engine: engine)
    let clock = ContinuousClock()
    let start = clock.now
    let codes = await withTaskGroup(of: StorageError.Code?.self) { group in
      for index in 0..<20 {
        group.addTask {
          do {
            try await database.write { try $0.put(KeyName("k\(index)"), Data()) }
            return nil
          } catch { return (error as? StorageError)?.code }
        }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(codes == Array(repeating: .busy, count: 20))
    // In sequence they would take 20 s.
    #expect(clock.now - start < .seconds(10))
    holder.tell("done")
    _ = try holder.lines()
    try await engine.close()
  }

  @Test func aHolderInThisProcessIsToldAsSuch() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    var configuration = SQLiteEngine.Configuration()
    configuration.busyTimeout = 50
    let engine = try await SQLiteEngine.open(at: path, configuration: configuration)
    var other: OpaquePointer?
    #expect(sqlite3_open(path, &other) == SQLITE_OK)
    #expect(sqlite3_exec(other, "BEGIN IMMEDIATE", nil, nil, nil) == SQLITE_OK)
    do {
      try await engine.commit(WriteBatch([.put(KeyName("k"), Data())]), from: StoreOrigin())
      Issue.record("committed although another connection holds the lock")
    } catch let error as StorageError {
      #expect(error.code == .busy && error.message.contains("this process holds it"), "\(error)")
    }
    sqlite3_close(other)
    try await engine.commit(WriteBatch([.put(KeyName("k"), Data())]), from: StoreOrigin())
    try await engine.close()
  }

  @Test func openingAStoreDoesNotWaitForAnotherOne() async throws {
    let directory = try TemporaryDirectory()
    let locked = directory.path("locked.db")
    var other: OpaquePointer?
    defer { sqlite3_close(other) }
    #expect(sqlite3_open(locked, &other) == SQLITE_OK)
    #expect(sqlite3_exec(other, "BEGIN EXCLUSIVE; CREATE TABLE t (a)", nil, nil, nil) == SQLITE_OK)
    let isOpen = Flag()
    let waiting = Task {
      var configuration = SQLiteEngine.Configuration()
      configuration.busyTimeout = 60_000
      let engine = try await SQLiteEngine.open(at: locked, configuration: configuration)
      await isOpen.set()
      return engine
    }
    // Once it waits, it has opened the file.
    try await eventually("it waits") { try openFiles().count { $0 == locked } >= 2 }
    let engine = try await SQLiteEngine.open(at: directory.path("free.db"))
    #expect(await !isOpen.isSet)
    try await engine.close()
    #expect(sqlite3_exec(other, "ROLLBACK", nil, nil, nil) == SQLITE_OK)
    try await finish(waiting, within: .seconds(60)).close()
  }

  /// The slow poll of one store's journal may block, but does not delay the notifications of other stores.
  @Test func aStoreThatCannotBeReadSilencesNoOther() async throws {
    let directory = try TemporaryDirectory()
    var configuration = SQLiteEngine.Configuration()
    configuration.busyTimeout = 60_000
    let stuck = try await SQLiteEngine.open(at: directory.path("stuck.db"), configuration: configuration)
    try await stuck.commit(WriteBatch([.put(KeyName("k"), Data())]), from: StoreOrigin())
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let poisoner = try HelperProcess(["poison-index", directory.path("stuck.db")])
    #expect(try poisoner.line() == "poisoned")
    // The slow poll runs once per second, so it blocks on the index within the following three seconds.
    let stream = engine.changes(since: nil)
    let heard = Task { () -> Int in
      var count = 0
      for await _ in stream {
        count += 1
        if count == 30 { break }
      }
      return count
    }
    let helper = try HelperProcess(["follow", directory.path("store.db")])
    #expect(try helper.line() == "ready")
    for _ in 0..<30 {
      helper.tell("commit")
      #expect(try helper.line() == "commit ok")
      try await Task.sleep(for: .milliseconds(100))  // time passes: the slow poll runs meanwhile
    }
    #expect(try await finish(heard, within: .seconds(20)) == 30)
    poisoner.tell("done")
    _ = try poisoner.lines()
    #expect(try await stuck.entry(KeyName("k")) != nil)
    try await engine.close()
    try await stuck.close()
  }

  private func store(_ value: String, at path: String) async throws {
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(WriteBatch([.put(KeyName("key"), Data(value.utf8))]), from: StoreOrigin())
    try await engine.close()
  }

  private func openFiles() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap {
      try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
    }
  }
}

private actor Flag {
  private(set) var isSet = false
  func set() { isSet = true }
}
