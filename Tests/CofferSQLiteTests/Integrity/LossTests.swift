import CofferCSQLite
import CofferCore
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Lost commits are reported, and a journal position never refers to other commits than before.
@Suite(.serialized) struct LossTests {
  @Test func aLogThatWasCutIsLossAndNoFreshStart() async throws {
    let directory = try killedStore(commits: 40)
    let path = directory.path("store.db")
    // A flipped bit ends the log for SQLite, as truncation does.
    try directory.change("store.db-wal") { $0[32 + 30 * logFrame + 24 + 100] ^= 1 }
    let engine = try await SQLiteEngine.open(at: path)
    let loss = try #require(try await engine.loss())
    #expect(loss.includesDurable && loss.upTo >= StoreRevision(40) && loss.after < loss.upTo, "\(loss)")
    guard case .recovered(let reason)? = await firstAvailability(engine) else { throw TestFailure("no loss reported") }
    #expect(reason == loss.message)
    #expect(engine.latestRevision == loss.upTo.next)
    #expect(try await !engine.verify().isWhole)
    try await engine.close()
    // The loss is reported until it is accepted.
    let again = try await SQLiteEngine.open(at: path)
    #expect(try await again.loss() == loss)
    try await again.acceptLoss()
    #expect(try await again.verify().isWhole)
    #expect(await firstAvailability(again) == .available)
    try await again.close()
    let last = try await SQLiteEngine.open(at: path)
    #expect(try await last.loss() == nil)
    try await last.close()
  }

  @Test func aLogThatIsGoneIsLoss() async throws {
    let directory = try killedStore(commits: 10)
    try FileManager.default.removeItem(atPath: directory.path("store.db-wal"))
    try? FileManager.default.removeItem(atPath: directory.path("store.db-shm"))
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    #expect(try await engine.loss()?.includesDurable == true)
    try await engine.close()
  }

  @Test func relaxedCommitsThatAreGoneAreToldAsSuch() async throws {
    let directory = try killedStore(commits: 10, durability: "relaxed")
    try directory.change("store.db-wal") { $0[32 + 12 * logFrame + 24 + 100] ^= 1 }
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let loss = try #require(try await engine.loss())
    #expect(!loss.includesDurable && loss.message.contains("relaxed"), "\(loss)")
    try await engine.close()
  }

  @Test func aStoreThatLostNothingSaysNothing() async throws {
    let directory = try killedStore(commits: 10)
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    #expect(try await engine.loss() == nil)
    #expect(await firstAvailability(engine) == .available)
    try await engine.close()
  }

  /// The wake-up file may be deleted at any time: no loss is reported then, and the store keeps working.
  @Test func withoutAWakeUpFileNothingIsClaimed() async throws {
    let directory = try await closedStore(values: 5)
    let first = try await SQLiteEngine.open(at: directory.path("store.db"))
    let position = first.latestPosition
    try await first.close()
    try FileManager.default.removeItem(atPath: directory.path("store.db-wake"))
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    #expect(try await engine.loss() == nil)
    #expect(engine.latestRevision == position.revision && engine.latestPosition.epoch != position.epoch)
    // The commit of the position is still in the journal, so the subscriber resumes after it.
    var changes = engine.changes(since: position).makeAsyncIterator()
    try await engine.commit(WriteBatch([.put(KeyName("k"), Data())]), from: StoreOrigin())
    guard case .commit(let commit)? = await changes.next() else { throw TestFailure("a reload instead of the commit") }
    #expect(commit.revision == position.revision.next)
    try await engine.close()
  }

  /// An old copy without a wake-up file replaces the store: its revisions are assigned a second time.
  @Test func aSubscriberFromAnotherHistoryIsToldToReload() async throws {
    let directory = try await closedStore(values: 5)
    let path = directory.path("store.db")
    let copy = try directory.bytes()
    let first = try await SQLiteEngine.open(at: path)
    for number in 0..<5 {
      try await first.commit(WriteBatch([.put(KeyName("old"), Data("\(number)".utf8))]), from: StoreOrigin())
    }
    let position = first.latestPosition
    try await first.close()
    try FileManager.default.removeItem(atPath: path + "-wake")
    try directory.change { $0 = copy }
    let engine = try await SQLiteEngine.open(at: path)
    for number in 0..<8 {
      try await engine.commit(WriteBatch([.put(KeyName("new"), Data("\(number)".utf8))]), from: StoreOrigin())
    }
    #expect(position.revision < engine.latestRevision)
    var changes = engine.changes(since: position).makeAsyncIterator()
    #expect(await changes.next() == .reload(upTo: engine.latestRevision))
    try await engine.close()
  }

  /// Another program replaces the state of an open store with an older state of the same store.
  @Test func anOlderStateUnderAnOpenStoreEndsIt() async throws {
    let directory = try await closedStore(values: 5)
    let path = directory.path("store.db")
    let old = directory.path("old.db")
    try FileManager.default.copyItem(atPath: path, toPath: old)
    let engine = try await SQLiteEngine.open(at: path)
    for number in 0..<5 {
      try await engine.commit(WriteBatch([.put(KeyName("new"), Data("\(number)".utf8))]), from: StoreOrigin())
    }
    // Like the `.restore` command of SQLite's shell: through the same file and its log.
    try restore(path, from: old)
    let deadline = ContinuousClock.now + .seconds(30)
    var refusal: StorageError?
    while refusal == nil, ContinuousClock.now < deadline {
      do {
        try await engine.commit(WriteBatch([.put(KeyName("late"), Data())]), from: StoreOrigin())
      } catch let error as StorageError {
        refusal = error
      }
    }
    #expect(refusal?.code == .closed, "\(String(describing: refusal))")
    try await engine.close()
    let again = try await SQLiteEngine.open(at: path)
    #expect(try await again.loss() != nil)
    #expect(again.latestRevision > StoreRevision(10))
    try await again.close()
  }
}

/// Another store is copied over the database file of an open one, in place.
@Suite(.serialized) struct OverwrittenTests {
  /// A handle that can write, and one that only reads while another one can write.
  @Test(arguments: [StoreAccess.readWrite, .readOnly])
  func anotherStoreOverAnOpenStoreEndsIt(access: StoreAccess) async throws {
    let directory = try await closedStore(values: 5)
    let path = directory.path("store.db")
    let other = try await SQLiteEngine.open(at: directory.path("other.db"))
    for _ in 0..<9 { try await other.commit(WriteBatch([.put(KeyName("o"), Data())]), from: StoreOrigin()) }
    try await other.close()
    var configuration = SQLiteEngine.Configuration()
    configuration.access = access
    let writer = try await SQLiteEngine.open(at: path)
    let engine = access == .readOnly ? try await SQLiteEngine.open(at: path, configuration: configuration) : writer
    let end = Task { for await _ in engine.changes(since: nil) {} }
    try directory.change { $0 = try directory.bytes("other.db") }
    try await finish(end, within: .seconds(60))
    guard case .unavailable(let reason)? = await firstAvailability(engine) else { throw TestFailure("not told") }
    #expect(reason.contains("replaced"), "\(reason)")
    let error = await #expect(throws: StorageError.self) { _ = try await engine.entry(KeyName("o")) }
    #expect(error?.code == .closed)
    try? await engine.close()
    try? await writer.close()
  }

  @Test func anOlderCopyOverAnOpenStoreEndsIt() async throws {
    let directory = try await closedStore(values: 5)
    let old = try directory.bytes()
    let path = directory.path("store.db")
    var engine = try await SQLiteEngine.open(at: path)
    for _ in 0..<5 { try await engine.commit(WriteBatch([.put(KeyName("new"), Data())]), from: StoreOrigin()) }
    try await engine.close()
    engine = try await SQLiteEngine.open(at: path)
    let end = Task { [engine] in for await _ in engine.changes(since: nil) {} }
    try directory.change { $0 = old }
    try await finish(end, within: .seconds(60))
    guard case .unavailable(let reason)? = await firstAvailability(engine) else { throw TestFailure("not told") }
    #expect(reason.contains("replaced by an older state"), "\(reason)")
    try? await engine.close()
  }
}

/// The checked words of the wake-up file.
@Suite(.serialized) struct WakeWordTests {
  @Test func anyFlippedBitOfARevisionShows() {
    for number in [1, 2, 3, 41, 255, 65_536, 1_763_700_000_000, (1 << 47) + 12_345] as [UInt64] {
      let word = WakeWords.word(StoreRevision(number))
      #expect(WakeWords.revision(word) == StoreRevision(number))
      for bit in 0..<64 { #expect(WakeWords.revision(word ^ 1 << bit) == nil, "\(number), bit \(bit)") }
    }
    #expect(WakeWords.revision(0) == .zero)
    #expect(WakeWords.revision(.max) == nil)
  }

  /// A regression test: arbitrary bytes in the wake-up file once ended the process.
  @Test(arguments: [UInt8(0xFF), 0x00, 0x7F, 0x55])
  func nonsenseInTheWakeUpFileDoesNoHarm(byte: UInt8) async throws {
    let directory = try await closedStore(values: 5)
    let path = directory.path("store.db")
    func scribble() throws {
      let file = open(path + "-wake", O_RDWR)
      defer { close(file) }
      let bytes = [UInt8](repeating: byte, count: 120)
      #expect(pwrite(file, bytes, bytes.count, 8) == bytes.count)
    }
    try scribble()
    let engine = try await SQLiteEngine.open(at: path)
    #expect(engine.latestRevision == StoreRevision(5))
    #expect(try await engine.loss() == nil)
    let changes = engine.changes(since: nil)
    try scribble()
    #expect(engine.latestRevision == StoreRevision(5))
    try await engine.commit(WriteBatch([.put(KeyName("k"), Data())]), from: StoreOrigin())
    #expect(engine.latestRevision == StoreRevision(6))
    let first = Task { await changes.first { _ in true } }
    guard case .commit(let commit)? = try await finish(first, within: .seconds(60)) else { throw TestFailure("reload") }
    #expect(commit.revision == StoreRevision(6))
    try await engine.close()
  }
}

/// Copies a database over another through SQLite, like the `.restore` command of its shell.
private func restore(_ path: String, from source: String) throws {
  var from: OpaquePointer?
  var into: OpaquePointer?
  defer {
    sqlite3_close(from)
    sqlite3_close(into)
  }
  guard sqlite3_open(source, &from) == SQLITE_OK, sqlite3_open(path, &into) == SQLITE_OK else {
    throw TestFailure("cannot be opened")
  }
  sqlite3_busy_timeout(into, 10_000)
  guard let backup = sqlite3_backup_init(into, "main", from, "main") else { throw TestFailure("no backup") }
  let code = sqlite3_backup_step(backup, -1)
  guard sqlite3_backup_finish(backup) == SQLITE_OK, code == SQLITE_DONE else { throw TestFailure("SQLite: \(code)") }
}
