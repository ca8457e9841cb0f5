import CofferCSQLite
import CofferCore
import CofferFiles
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

/// Files of other programs in the directory, and changes to the journal.
@Suite(.serialized) struct ForeignFileTests {
  private func values(of engine: SlotEngine) async throws -> [String] {
    try await engine.summaries().map(\.key.string)
  }

  @Test func aFileThatIsTooLargeIsNotReadAndHidesNothing() async throws {
    let directory = try await StoreDirectory.filled()
    try overwrite(directory.file("movie.mp4"), "")
    #expect(truncate(try directory.file("movie.mp4"), 1 << 40) == 0)
    try overwrite(directory.file("small"), "x")
    let engine = try await directory.open { $0.maximumValueSize = 1 << 20 }
    let names = try await values(of: engine)
    #expect(names.contains("small") && names.contains("theme") && !names.contains("movie.mp4"))
    await expectError(.valueTooLarge, contains: "movie.mp4") { _ = try await engine.entry(KeyName("movie.mp4")) }
    try await engine.close()
  }

  /// A damaged journal row is rebuilt from its value, which is intact.
  @Test func aDamagedRecordIsMadeAnewFromItsFile() async throws {
    let directory = try await StoreDirectory.filled()
    try directory.damageJournal("UPDATE coffer_values SET checksum = checksum + 1 WHERE key = CAST('theme' AS BLOB)")
    let engine = try await directory.open()
    #expect(try await engine.entry(KeyName("theme"))?.value == Data("old theme".utf8))
    // Under an open store as well; and a row without a file is removed.
    try directory.damageJournal("UPDATE coffer_values SET value = x'00' WHERE key = CAST('theme' AS BLOB)")
    try directory.damageJournal("UPDATE coffer_values SET checksum = 1 WHERE key = CAST('keep' AS BLOB)")
    unlink(try directory.file("keep"))
    #expect(try await engine.entry(KeyName("theme"))?.value == Data("old theme".utf8))
    #expect(try await engine.entry(KeyName("keep")) == nil)
    #expect(try await values(of: engine).contains("theme"))
    try await engine.close()
  }

  /// What the store has not put there can be neither shown nor removed, so it is not listed.
  @Test func aFileOfAnotherProgramInTheQuarantineIsNotListed() async throws {
    let directory = try await StoreDirectory.filled()
    let foreign = directory.control("quarantine/notes.txt")
    try overwrite(foreign, "x")
    let engine = try await directory.open()
    #expect(try await engine.quarantinedValues().isEmpty)
    await expectError(.notFound, contains: "notes.txt") { _ = try await engine.quarantinedBytes("notes.txt") }
    await expectError(.notFound, contains: "../names") { _ = try await engine.quarantinedBytes("../names") }
    try await engine.removeQuarantined(["notes.txt", "../journal.db"])
    #expect(FileManager.default.fileExists(atPath: foreign))
    #expect(FileManager.default.fileExists(atPath: directory.control("journal.db")))
    try await engine.close()
  }

  @Test func aJournalIsNoStoreAndAStoreIsNoJournal() async throws {
    let directory = try await StoreDirectory.filled()
    let error = await #expect(throws: StorageError.self) {
      try await SQLiteEngine.open(at: directory.control("journal.db"))
    }
    #expect(error?.code == .notAStore && error?.message.contains("journal") == true)
    let other = try StoreDirectory()
    let path = other.control("journal.db")
    let store = try await SQLiteEngine.open(at: path)
    try await store.commit(WriteBatch([.put(KeyName("k"), Data("v".utf8))]), from: StoreOrigin())
    try await store.close()
    await expectError(.notAStore, contains: "a separate store") { _ = try await other.open() }
  }

  /// A removed file that is restored from a backup is a new value, although its bytes are those that were removed.
  @Test(arguments: [true, false])
  func whatIsPutBackAfterItsRemovalStays(whileOpen: Bool) async throws {
    let directory = try StoreDirectory()
    let key = KeyName("k")
    func removeIt() async throws -> SlotEngine {
      let engine = try await directory.open()
      for operation in [WriteBatch.Operation.put(key, Data("one".utf8)), .delete(key)] {
        try await engine.commit(WriteBatch([operation]), from: StoreOrigin())
      }
      return engine
    }
    var engine: SlotEngine? = try await removeIt()
    if !whileOpen { engine = nil }  // released without being closed
    let present = try await directory.open()
    let heard = present.changes(since: nil)
    if !whileOpen { try await present.close() }
    try overwrite(directory.file("k"), "one")
    let reader = whileOpen ? present : try await directory.open()
    if whileOpen { _ = try await finish(Task { await heard.first { _ in true } }, within: .seconds(60)) }
    #expect(try await reader.entry(key)?.value == Data("one".utf8))
    #expect(try directory.contents()["k"] == Data("one".utf8))
    try await reader.close()
    try await engine?.close()
  }

  /// An adapter that opens without suspending, so that its first commit does not wait for recovery.
  @Test func aBlockingOpenBeginsBeyondTheOldRevisionsToo() async throws {
    let directory = try StoreDirectory()
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    for number in 0..<500 { try overwrite("\(directory.path)/\(number)", "x") }
    var configuration = SlotEngine.Configuration()
    configuration.foreignData = .ignore
    let adapter = FileStorageAdapter(directory: directory.url, configuration: configuration)
    let commit = try await adapter.engine.commit(WriteBatch([.put(KeyName("k"), Data())]), from: StoreOrigin())
    #expect(commit.revision.rawValue > 1_000_000_000)
    try await adapter.engine.close()
  }

  /// A position in the lost journal is not valid in the rebuilt one.
  @Test func revisionsOfARebuiltJournalAreNeverThoseOfTheOldOne() async throws {
    let directory = try await StoreDirectory.filled()
    let old = try await directory.open()
    let seen = try #require(try await old.entry(KeyName("theme"))?.revision)
    try await old.close()
    try FileManager.default.removeItem(atPath: directory.control("journal.db"))
    let engine = try await directory.open()
    #expect(engine.latestRevision.rawValue > 1_000_000_000)
    await expectError(.preconditionFailed) {
      try await engine.commit(
        WriteBatch([.require(KeyName("theme"), seen), .delete(KeyName("theme"))]), from: StoreOrigin())
    }
    let stream = engine.changes(since: seen)
    let first = try await finish(Task { await stream.first { _ in true } }, within: .seconds(60))
    guard case .reload = first else { throw TestFailure("\(String(describing: first))") }
    try await engine.close()
  }
}

extension StoreDirectory {
  /// Runs SQL on the journal without the engine.
  fileprivate func damageJournal(_ statement: String) throws {
    var handle: OpaquePointer?
    try #require(
      sqlite3_open_v2(control("journal.db"), &handle, SQLITE_OPEN_READWRITE, PageVFS.registeredName) == SQLITE_OK)
    defer { sqlite3_close(handle) }
    try #require(sqlite3_exec(handle, statement, nil, nil, nil) == SQLITE_OK)
    #expect(sqlite3_changes(handle) == 1)
  }
}
