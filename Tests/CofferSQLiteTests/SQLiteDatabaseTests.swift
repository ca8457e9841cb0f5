import Coffer
import CofferCore
import CofferSQLite
import CofferTestSupport
import Foundation
import Testing

@Suite(.serialized) struct SQLiteDatabaseTests {
  private let shop = [
    SQLiteDatabase.Migration("shops") {
      try $0.execute("CREATE TABLE shops (id INTEGER PRIMARY KEY, name TEXT NOT NULL)")
    },
    SQLiteDatabase.Migration("prices") { transaction in
      try transaction.execute("CREATE TABLE prices (shop INTEGER NOT NULL REFERENCES shops, cents INTEGER NOT NULL)")
    },
  ]

  private func open(_ directory: TemporaryDirectory) async throws -> SQLiteDatabase {
    SQLiteDatabase(engine: try await SQLiteEngine.open(at: directory.path("store.db")))
  }

  @Test func tablesAndKeysChangeTogether() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.migrate(shop)
    let stream = database.engine.changes(since: nil)
    let transaction = TransactionID()
    let count = try await database.write(transaction: transaction) { transaction in
      try transaction.execute("INSERT INTO shops (name) VALUES (?1), (?2)", ["A", "B"])
      try transaction.put(KeyName("last"), Data("B".utf8))
      #expect(try transaction.value(KeyName("last")) == Data("B".utf8))
      return try transaction.query("SELECT count(*) FROM shops") { $0.integer(0) }[0]
    }
    #expect(count == 2)
    #expect(try await database.engine.entry(KeyName("last"))?.value == Data("B".utf8))
    var iterator = stream.makeAsyncIterator()
    guard case .commit(let commit)? = await iterator.next() else { throw TestFailure("no commit was delivered") }
    #expect(commit.transaction == transaction)
    #expect(commit.origin == database.origin)
    #expect(commit.changed.keys == [KeyName("last")])
    try await database.engine.close()
  }

  @Test func theRowIDOfAnInsertedRowIsKnown() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.migrate(shop)
    let rows = try await database.write { transaction in
      try ["A", "B"].map { name in
        try transaction.execute("INSERT INTO shops (name) VALUES (?1)", [.text(name)])
        return transaction.lastInsertedRowID
      }
    }
    #expect(rows == [1, 2])
    try await database.engine.close()
  }

  @Test func memoryIsReleasedBesideReadsAndWrites() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.migrate(shop)
    let revision = database.engine.latestRevision
    let names = try await database.engine.withSnapshot { snapshot in
      await database.releaseMemory()  // The reader of the snapshot stays.
      try await database.write { try $0.execute("INSERT INTO shops (name) VALUES ('A')") }
      await database.releaseMemory()
      #expect(snapshot.revision == revision)
      return try await database.read { try $0.query("SELECT name FROM shops") { $0.text(0) } }
    }
    #expect(names == ["A"])
    #expect(database.engine.latestRevision == revision.next)  // Releasing memory is no commit.
    try await database.engine.close()
  }

  @Test func equalStringsWithOtherBytesAreOtherStatements() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    for _ in 0..<2 {
      for text in ["caf\u{e9}", "cafe\u{301}"] {
        let found = try await database.read {
          try $0.query("SELECT '\(text)' WHERE ?1", [1]) { Array($0.text(0).utf8) }
        }
        #expect(found == [Array(text.utf8)])
      }
    }
    try await database.engine.close()
  }

  @Test func aTransactionThatThrowsHasNotHappened() async throws {
    struct Refused: Error {}
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.migrate(shop)
    let before = database.engine.latestRevision
    await #expect(throws: Refused.self) {
      try await database.write { transaction in
        try transaction.execute("INSERT INTO shops (name) VALUES ('A')")
        try transaction.put(KeyName("last"), Data())
        throw Refused()
      }
    }
    await #expect(throws: StorageError.self) {
      try await database.write { try $0.execute("INSERT INTO prices VALUES (99, 1)") }  // no such shop
    }
    #expect(try await database.read { try $0.query("SELECT * FROM shops") { _ in 1 } }.isEmpty)
    #expect(try await database.engine.entry(KeyName("last")) == nil)
    #expect(database.engine.latestRevision == before)
    try await database.engine.close()
  }

  // Requirement 1.58
  @Test func migrationsRunOnceAndAnUnknownOneIsRefused() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.migrate(Array(shop.prefix(1)))
    try await database.migrate(shop)
    try await database.migrate(shop)
    await #expect(throws: StorageError.self) { try await database.migrate(Array(shop.prefix(1))) }
    let failing =
      shop + [SQLiteDatabase.Migration("broken") { try $0.execute("CREATE TABLE broken (id); SELECT nonsense") }]
    await #expect(throws: StorageError.self) { try await database.migrate(failing) }
    let names = try await database.read { transaction in
      try transaction.query("SELECT name FROM coffer_migrations ORDER BY position") { $0.text(0) }
    }
    #expect(names == ["shops", "prices"])
    try await database.engine.close()
  }

  @Test func aNewerFileIsRefusedAndLeftAlone() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    try await SQLiteDatabase.open(at: path, migrations: shop).close()
    for known in [
      [], [shop[0]], [shop[0], SQLiteDatabase.Migration("orders") { try $0.execute("CREATE TABLE orders (id)") }],
    ] {
      let error = await #expect(throws: StorageError.self) {
        _ = try await SQLiteDatabase.open(at: path, migrations: known)
      }
      #expect(error?.code == .newerFormat, "\(String(describing: error))")
      #expect(error?.message.contains(known.isEmpty ? "'shops'" : "'prices'") == true)
    }
    let database = try await SQLiteDatabase.open(at: path, migrations: shop)
    let tables = try await database.read { transaction in
      try transaction.query("SELECT name FROM sqlite_schema WHERE name = 'orders'") { $0.text(0) }
    }
    #expect(tables == [])
    try await database.close()
  }

  @Test func handlesThatOpenAFileAtOnceApplyEachMigrationOnce() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    let applied = Locked(0)
    let counting = shop.map { migration in
      SQLiteDatabase.Migration(migration.name) { transaction in
        applied.withLock { $0 += 1 }
        try migration.apply(transaction)
      }
    }
    try await withThrowingTaskGroup { group in
      for _ in 0..<8 {
        group.addTask { try await SQLiteDatabase.open(at: path, migrations: counting).close() }
      }
      try await group.waitForAll()
    }
    #expect(applied.withLock { $0 } == shop.count)
  }

  @Test func aFileThatIsUpToDateIsOpenedWithoutWriting() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("store.db")
    try await SQLiteDatabase.open(at: path, migrations: shop).close()
    var configuration = SQLiteEngine.Configuration()
    configuration.access = .readOnly
    let database = try await SQLiteDatabase.open(at: path, migrations: shop, configuration: configuration)
    #expect(database.engine.isReadOnly)
    #expect(try await database.read { try $0.query("SELECT count(*) FROM shops") { $0.integer(0) } } == [0])
    let error = await #expect(throws: StorageError.self) {
      try await database.write { try $0.execute("DELETE FROM shops") }
    }
    #expect(error?.code == .readOnly)
    try await database.close()
  }

  @Test func typedValuesAndTablesChangeTogether() async throws {
    struct Refused: Error {}
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.migrate(shop)
    let store = TypedStore(engine: database.engine)
    try await store.save([1, 2], for: "numbers")
    try await database.write { transaction in
      try transaction.execute("INSERT INTO shops (name) VALUES ('A')")
      let numbers = try store.load([Int].self, for: "numbers", in: transaction)
      try store.save((numbers ?? []) + [3], for: "numbers", in: transaction)
      try store.save("as it is", for: "text", in: transaction)
    }
    #expect(try await store.load([Int].self, for: "numbers") == [1, 2, 3])
    #expect(try await store.load(String.self, for: "text") == "as it is")
    await #expect(throws: Refused.self) {
      try await database.write { transaction in
        try store.save([4], for: "numbers", in: transaction)
        throw Refused()
      }
    }
    #expect(try await store.load([Int].self, for: "numbers") == [1, 2, 3])
    try await database.write { try $0.clear(nil) }
    #expect(try await store.load([Int].self, for: "numbers") == nil)
    #expect(try await database.read { try $0.query("SELECT name FROM shops") { $0.text(0) } } == ["A"])
    try await database.close()
  }

  @Test func allKindsOfValuesGoInAndOut() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.write { transaction in
      try transaction.execute("CREATE TABLE things (a, b, c, d, e)")
      try transaction.execute(
        "INSERT INTO things VALUES (?1, ?2, ?3, ?4, ?5)", [nil, 7, 2.5, "h\u{e9}\0llo", .blob(Data([0, 255]))])
    }
    let rows = try await database.read { transaction in
      try transaction.query("SELECT a, b, c, d, e, '' FROM things") { row in
        (row.isNull(0), row.integer(1), row.real(2), row.text(3), row.blob(4), row.text(5))
      }
    }
    #expect(rows.count == 1)
    #expect(rows[0] == (true, 7, 2.5, "h\u{e9}\0llo", Data([0, 255]), ""))
    try await database.engine.close()
  }

  @Test func readsAreOneStateAndWriteNothing() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.migrate(shop)
    await #expect(throws: StorageError.self) {
      _ = try await database.read { try $0.query("INSERT INTO shops (name) VALUES ('x') RETURNING id") { _ in 1 } }
    }
    try await database.engine.close()
  }

  @Test func aTransactionThatIsEndedInsideItsClosureIsRefused() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.migrate(shop)
    for end in ["COMMIT", "ROLLBACK"] {
      do {
        try await database.write { transaction in
          try transaction.execute("INSERT INTO shops (name) VALUES ('A')")
          try transaction.execute(end)
          try transaction.put(KeyName("after"), Data())
        }
        Issue.record("nothing was thrown")
      } catch let error as StorageError {
        #expect(error.code == .statementFailed)
      }
    }
    #expect(try await database.engine.entry(KeyName("after")) == nil)
    try await database.engine.close()
  }

  @Test func statementsThatDoNotFitAreRefusedInWords() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.migrate(shop)
    let bad: [(String, [SQLiteValue])] = [
      ("INSERT INTO shops (name) VALUES (?1)", []), ("SELECT nonsense", []),
      ("INSERT INTO shops (name) VALUES (?1)", [nil]), ("SELECT ?1", [1, 2]),
    ]
    for (sql, arguments) in bad {
      do {
        try await database.write { _ = try $0.query(sql, arguments) { _ in 1 } }
        Issue.record("nothing was thrown for \(sql)")
      } catch let error as StorageError {
        #expect(error.code == .statementFailed, "\(error)")
      }
    }
    try await database.engine.close()
  }

  @Test func aQueryMayRunItselfForEachOfItsRows() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    try await database.migrate(shop)
    let names = try await database.write { transaction in
      try transaction.execute("INSERT INTO shops (name) VALUES ('A'), ('B'), ('C')")
      let sql = "SELECT name FROM shops WHERE id >= ?1 ORDER BY id"
      return try transaction.query(sql, [1]) { row in
        row.text(0) + (try transaction.query(sql, [3]) { $0.text(0) }).joined()
      }
    }
    #expect(names == ["AC", "BC", "CC"])
    try await database.engine.close()
  }

  @Test func aTransactionKeptForLaterIsRefused() async throws {
    let directory = try TemporaryDirectory()
    let database = try await open(directory)
    let kept = Locked<SQLiteDatabase.Transaction?>(nil)
    nonisolated(unsafe) var leaked: SQLiteDatabase.Transaction?  // one thread after the other
    try await database.write { transaction in leaked = transaction }
    #expect(throws: StorageError.self) { try leaked?.execute("SELECT 1") }
    _ = kept
    try await database.engine.close()
  }

  /// The commit of a pending write would replace the value of the transaction.
  @Test func aDatabaseTransactionRefusesAKeyWithAPendingWrite() async throws {
    let directory = try TemporaryDirectory()
    let engine = try await SQLiteEngine.open(at: directory.path("store.db"))
    let policy = WritePolicy.back(window: .seconds(3_600))
    let (store, database) = (TypedStore(engine: engine, writePolicy: policy), SQLiteDatabase(engine: engine))
    try await store.save(1, for: "count")
    await #expect(throws: StorageError.self) {
      try await database.write { transaction in _ = try store.load(Int.self, for: "count", in: transaction) }
    }
    await #expect(throws: StorageError.self) {
      try await database.write { transaction in try store.save(7, for: "count", in: transaction) }
    }
    try await store.flush()
    try await database.write { transaction in
      let count = try store.load(Int.self, for: "count", in: transaction) ?? 0
      try store.save(count + 1, for: "count", in: transaction)
    }
    #expect(try await TypedStore(engine: engine).load(Int.self, for: "count") == 2)
    try await store.close()
  }
}
