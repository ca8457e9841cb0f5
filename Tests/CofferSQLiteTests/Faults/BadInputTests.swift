import CofferCSQLite
import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Tests of the errors for a path to the wrong kind of file or to a damaged store.
@Suite(.blocking, .serialized) struct BadInputTests {
  let origin = StoreOrigin()

  func expectError(
    _ code: StorageError.Code, contains text: String = "", sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () async throws -> Void
  ) async {
    let error = await expectStorageError(code, contains: text, at: "sqlite:", sourceLocation: sourceLocation, body)
    #expect(error?.advice.isEmpty != true, sourceLocation: sourceLocation)
  }

  @Test func aPathThatCannotBeWritten() async throws {
    await expectError(.permissionDenied) { _ = try await SQLiteEngine.open(at: "/sys/kernel/coffer/store.db") }
    await expectError(.inputOutput) { _ = try await SQLiteEngine.open(at: "") }
    await expectError(.inputOutput) { _ = try await SQLiteEngine.open(at: "a\0b") }
  }

  @Test func aDirectoryWhereTheFileShouldBe() async throws {
    let directory = try TemporaryDirectory()
    await expectError(.notAStore, contains: "directory") {
      _ = try await SQLiteEngine.open(at: directory.url.path)
    }
  }

  @Test func aFileWhereADirectoryShouldBe() async throws {
    let directory = try TemporaryDirectory()
    try Data("x".utf8).write(to: directory.url.appendingPathComponent("file"))
    await expectError(.inputOutput, contains: "directory") {
      _ = try await SQLiteEngine.open(at: directory.path("file/store.db"))
    }
    await expectError(.inputOutput, contains: "directory") {
      _ = try await SQLiteEngine.open(at: "/proc/none/store.db")
    }
  }

  @Test func aDeviceOrPipeWhereTheFileShouldBe() async throws {
    let directory = try TemporaryDirectory()
    mkfifo(directory.path("pipe"), 0o600)
    for path in ["/dev/null", directory.path("pipe")] {
      await expectError(.notAStore, contains: "device") { _ = try await SQLiteEngine.open(at: path) }
    }
    #expect(!FileManager.default.fileExists(atPath: "/dev/null-wal"))
  }

  @Test func aFileThatIsNoDatabase() async throws {
    let directory = try TemporaryDirectory()
    let content = Data(repeating: 0x41, count: 8_192)
    try content.write(to: directory.url.appendingPathComponent("store.db"))
    await expectError(.notAStore) { _ = try await SQLiteEngine.open(at: directory.path("store.db")) }
    #expect(try Data(contentsOf: directory.url.appendingPathComponent("store.db")) == content)
  }

  @Test func aDatabaseOfAnotherApplication() async throws {
    let directory = try TemporaryDirectory()
    try sql(directory.path("store.db"), "CREATE TABLE notes (text TEXT); INSERT INTO notes VALUES ('mine')")
    let before = try Data(contentsOf: directory.url.appendingPathComponent("store.db"))
    await expectError(.foreignFormat, contains: "another application") {
      _ = try await SQLiteEngine.open(at: directory.path("store.db"))
    }
    #expect(try Data(contentsOf: directory.url.appendingPathComponent("store.db")) == before)
  }

  @Test func aStoreFromTheFuture() async throws {
    let directory = try TemporaryDirectory()
    try await makeStore(directory)
    try sql(directory.path("store.db"), "UPDATE coffer_meta SET value = 99 WHERE name = 'format'", vfs: "coffer")
    await expectError(.newerFormat, contains: "format 99") {
      _ = try await SQLiteEngine.open(at: directory.path("store.db"))
    }
  }

  @Test func aMissingStoreThatMustExist() async throws {
    let directory = try TemporaryDirectory()
    var configuration = SQLiteEngine.Configuration()
    configuration.createsIfMissing = false
    await expectError(.notFound) {
      _ = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    }
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.url.path).isEmpty)
  }

  @Test func aTruncatedDatabase() async throws {
    let directory = try TemporaryDirectory()
    try await makeStore(directory, values: 2_000)
    let file = try FileHandle(forUpdating: directory.url.appendingPathComponent("store.db"))
    try file.truncate(atOffset: 8_192)
    try file.close()
    await expectError(.damaged) {
      let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
      do {
        for index in 0..<2_000 { _ = try await engine.entry(KeyName("key\(index)")) }
      } catch {
        try await engine.close()
        throw error
      }
    }
  }

  @Test func anEmptiedDatabaseIsNotTakenForANewOne() async throws {
    let directory = try TemporaryDirectory()
    try await makeStore(directory)
    truncate(directory.path("store.db"), 0)
    for creates in [true, false] {
      var configuration = SQLiteEngine.Configuration()
      configuration.createsIfMissing = creates
      await expectError(.damaged, contains: "-wake") {
        _ = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
      }
    }
  }

  /// A copy of a closed store made with `cp`, restored with `cp` over the closed store.
  @Test func aRestoredCopyIsWhatItWas() async throws {
    let directory = try TemporaryDirectory()
    let (path, backup) = (directory.path("store.db"), directory.path("backup.db"))
    try await makeStore(directory, values: 40)
    try FileManager.default.copyItem(atPath: path, toPath: backup)
    let engine = try await SQLiteEngine.open(at: path)
    for index in 0..<200 {
      try await engine.commit(WriteBatch([.put(KeyName("later\(index)"), Data(count: 300))]), from: origin)
    }
    try await engine.commit(WriteBatch([.clear(prefix: KeyName("key"))]), from: origin)
    try await engine.close()
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.copyItem(atPath: backup, toPath: path)
    let restored = try await SQLiteEngine.open(at: path)
    let entries = try await restored.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 1_000) }
    #expect(entries.count == 40)
    // No revision is assigned twice, and the loss is reported.
    #expect(restored.latestRevision == StoreRevision(203))
    #expect(try await restored.loss()?.upTo == StoreRevision(202))
    for await availability in restored.availability() {
      guard case .recovered = availability else { throw TestFailure("\(availability)") }
      break
    }
    let check = try await SQLiteDatabase(engine: restored).read { transaction in
      try transaction.query("PRAGMA integrity_check") { $0.text(0) }
    }
    #expect(check == ["ok"])
    try await restored.close()
  }

  @Test func aFileThatAnotherToolHasRewrittenGetsItsLogBack() async throws {
    let directory = try TemporaryDirectory()
    try await makeStore(directory)
    try sql(directory.path("store.db"), "PRAGMA journal_mode = DELETE; VACUUM")
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let mode = try await SQLiteDatabase(engine: engine).read { try $0.query("PRAGMA journal_mode") { $0.text(0) } }
    #expect(mode == ["wal"])
    try await engine.commit(WriteBatch([.put(KeyName("a"), Data())]), from: origin)
    try await engine.close()
  }

  @Test func anotherFileInPlaceOfTheWakeUpFileIsLeftAlone() async throws {
    let directory = try TemporaryDirectory()
    let notes = directory.url.appendingPathComponent("store.db-wake")
    try Data("another program's notes".utf8).write(to: notes)
    await expectError(.notAStore, contains: "wake-up") {
      _ = try await SQLiteEngine.open(at: directory.path("store.db"))
    }
    #expect(try Data(contentsOf: notes) == Data("another program's notes".utf8))
  }

  @Test func aFileThatIsReplacedUnderAnOpenStoreEndsIt() async throws {
    let directory = try TemporaryDirectory()
    try await makeStore(directory)
    let path = directory.path("store.db")
    let engine = try await SQLiteEngine.open(at: path)
    try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
    var refusal: StorageError?
    try await eventually("a commit is refused") {
      do {
        try await engine.commit(WriteBatch([.put(KeyName("a"), Data())]), from: origin)
      } catch let error as StorageError {
        refusal = error
      }
      return refusal != nil
    }
    #expect(refusal?.code == .closed)
    #expect(refusal?.message.contains("moved") == true)
    try await engine.close()
  }

  /// SQLite would delete the log next to a new file, and with it commits that only the log contains.
  @Test func aStoreWhoseFileWasMovedAwayIsNotTakenForANewOne() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let helper = try HelperProcess(["write", path, "full"])
    while try helper.line() != "ack 20" {}
    helper.kill()
    helper.wait()
    try FileManager.default.moveItem(atPath: path, toPath: path + ".moved")
    for creates in [true, false] {
      var configuration = SQLiteEngine.Configuration()
      configuration.createsIfMissing = creates
      await expectError(.damaged, contains: "-wal") {
        _ = try await SQLiteEngine.open(at: path, configuration: configuration)
      }
    }
    try FileManager.default.moveItem(atPath: path + ".moved", toPath: path)
    let engine = try await SQLiteEngine.open(at: path)
    #expect(try await engine.entry(KeyName("p/left/20")) != nil)
    try await engine.close()
  }

  @Test func aDamagedValueIsQuarantinedAndReportedOnce() async throws {
    let directory = try TemporaryDirectory()
    try await makeStore(directory)
    // Changes a byte in the file, as a failing disk would.
    let url = directory.url.appendingPathComponent("store.db")
    var bytes = try Data(contentsOf: url)
    let range = try #require(bytes.range(of: Data("value-7!".utf8)))
    bytes[range.lowerBound + 2] ^= 0x20
    try bytes.write(to: url)

    let reports = Locked<[DamageReport]>([])
    var configuration = SQLiteEngine.Configuration()
    configuration.onDamage = { report in reports.withLock { $0.append(report) } }
    let engine = try await SQLiteEngine.open(at: url.path, configuration: configuration)
    for _ in 0..<2 {
      await expectError(.damaged, contains: "key7") { _ = try await engine.entry(KeyName("key7")) }
    }
    #expect(reports.withLock { $0.map(\.key?.string) } == ["key7"])
    #expect(try await engine.entry(KeyName("key8"))?.value == Data("value-8!".utf8))
    // A listing ends before the damaged key, fails at it, and continues after it.
    let firstPage = try await engine.withSnapshot { try await $0.page(prefix: nil, after: nil, limit: 100) }
    #expect(firstPage.last?.key.string == "key6")
    await expectError(.damaged, contains: "key7") {
      _ = try await engine.withSnapshot { try await $0.page(prefix: nil, after: KeyName("key6"), limit: 100) }
    }
    let rest = try await engine.withSnapshot { try await $0.page(prefix: nil, after: KeyName("key7"), limit: 100) }
    #expect(rest.map(\.key.string) == ["key8", "key9"])
    // Writing the key again repairs it; the damaged bytes stay in quarantine.
    try await engine.commit(WriteBatch([.put(KeyName("key7"), Data("new".utf8))]), from: origin)
    #expect(try await engine.entry(KeyName("key7"))?.value == Data("new".utf8))
    let kept = try await SQLiteDatabase(engine: engine).read { transaction in
      try transaction.query("SELECT value FROM coffer_quarantine") { $0.blob(0) }
    }
    #expect(kept == [Data("vaLue-7!".utf8)])
    try await engine.close()
  }

  @Test func valuesOverTheLimit() async throws {
    let directory = try TemporaryDirectory()
    var configuration = SQLiteEngine.Configuration()
    configuration.maximumValueSize = 1_000
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    await expectError(.valueTooLarge, contains: "big") {
      try await engine.commit(
        WriteBatch([.put(KeyName("small"), Data()), .put(KeyName("big"), Data(count: 1_001))]), from: origin)
    }
    #expect(try await engine.entry(KeyName("small")) == nil)
    try await engine.close()
    // The reported limit never exceeds that of SQLite, whatever is configured.
    configuration.maximumValueSize = .max
    let unlimited = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    #expect(unlimited.capabilities.maximumValueSize > 900_000_000)
    #expect(unlimited.capabilities.maximumValueSize <= 1_000_000_000)
    try await unlimited.close()
  }

  @Test func aLockThatAnotherProcessHoldsForTooLong() async throws {
    let directory = try TemporaryDirectory()
    var configuration = SQLiteEngine.Configuration()
    configuration.busyTimeout = 50
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"), configuration: configuration)
    let helper = try HelperProcess(["hold-lock", directory.path("store.db")])
    #expect(try helper.line() == "holding")
    for durability in [StoreDurability.full, .relaxed] {
      await expectError(.busy) {
        try await engine.commit(WriteBatch([.put(KeyName("a"), Data())], durability: durability), from: origin)
      }
    }
    #expect(try await engine.entry(KeyName("held")) == nil)
    helper.tell("go")
    helper.wait()
    try await engine.commit(WriteBatch([.put(KeyName("a"), Data())]), from: origin)
    #expect(try await engine.entry(KeyName("held")) != nil)
    try await engine.close()
  }

  /// Creates and closes a store with the keys "key0", "key1" and so on, so that the database file contains the values.
  private func makeStore(_ directory: TemporaryDirectory, values: Int = 10) async throws {
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    var batch = WriteBatch()
    for index in 0..<values { batch.put(try KeyName("key\(index)"), Data("value-\(index)!".utf8)) }
    try await engine.commit(batch, from: origin)
    try await engine.close()
  }
}

/// Runs SQL on a file, as another tool would.
func sql(_ path: String, _ text: String, vfs: String? = nil) throws {
  var handle: OpaquePointer?
  let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
  guard sqlite3_open_v2(path, &handle, flags, vfs) == SQLITE_OK,
    sqlite3_exec(handle, text, nil, nil, nil) == SQLITE_OK
  else {
    throw TestFailure("SQLite: \(String(cString: sqlite3_errmsg(handle)))")
  }
  sqlite3_close(handle)
}
