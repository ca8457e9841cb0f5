public import CofferCore
public import CofferSQLite
public import Foundation

/// An application's own tables in the file of a store: they share its writer, so that one transaction changes tables
/// and keys together, and its journal, which tells of both.
///
/// ```swift
/// let database = try await SQLiteDatabase.open(at: "/var/lib/till/till.db", migrations: migrations)
///
/// try await database.write { transaction in
///   try transaction.execute("INSERT INTO sales (item, cents) VALUES (?1, ?2)", ["tea", 250])
///   try transaction.put(StoreKey("last-item"), Data("tea".utf8))
/// }
/// let total = try await database.read { try $0.query("SELECT total(cents) FROM sales") { $0.integer(0) }[0] }
/// ```
///
/// The store itself is ``engine``: typed values, changes (`engine.changes(since:)`), backups (`engine.backup(to:)`) and
/// restorations hold for the tables, too. Tables whose names begin with `coffer_` are the store's own.
///
/// Any number of tasks, databases and processes can use one file. Foreign keys are enforced.
public final class SQLiteDatabase: Sendable {
  /// The store in the same file.
  public let engine: SQLiteEngine
  /// Says which commits are this database's own.
  public let origin: StoreOrigin

  /// Uses the file of an open store. Its tables are as they are: see ``migrate(_:)``.
  public init(engine: SQLiteEngine, origin: StoreOrigin = StoreOrigin()) {
    self.engine = engine
    self.origin = origin
  }

  /// Opens a file, creating it unless the configuration says otherwise, and brings its tables up to date.
  ///
  /// Where nothing can be written, an up-to-date file is opened for reading only, as `engine.isReadOnly` tells.
  /// - Parameters:
  ///   - path: of the file.
  ///   - migrations: the application's schema, step by step.
  ///   - configuration: how the store is opened.
  /// - Throws: `StorageError` as `SQLiteEngine.open(at:configuration:)` and ``migrate(_:)`` do; what a step throws.
  public static func open(
    at path: String, migrations: [SQLiteMigration], configuration: SQLiteConfiguration = SQLiteConfiguration()
  ) async throws -> SQLiteDatabase {
    let engine = try await SQLiteEngine.open(at: path, configuration: configuration)
    do {
      let database = SQLiteDatabase(engine: engine)
      try await database.migrate(migrations)
      return database
    } catch {
      try? await engine.close()
      throw error
    }
  }

  /// Runs a closure in one transaction on the writer's thread. If it throws, nothing has happened.
  ///
  /// A transaction that has changed anything is one commit in the journal, whose selection has the keys that it has
  /// changed: none, if it has changed tables only. It runs alone, so it should not compute for long or wait.
  /// - Parameters:
  ///   - durability: what the transaction has survived when this returns.
  ///   - transaction: the logical change that it belongs to; a fresh one unless given.
  ///   - body: what to do. It may run before the caller's task goes on, never twice.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws. `StorageError`: `statementFailed` for SQL that is wrong or breaks a constraint,
  ///   `busy`, `diskFull`, `permissionDenied` where the file is open for reading only, `closed`.
  public func write<R: Sendable>(
    durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ body: @escaping @Sendable (SQLiteTransaction) throws -> R
  ) async throws -> R {
    try await engine.transact(
      TransactionHeader(origin: origin, transaction: transaction, durability: durability), body)
  }

  /// Runs a closure on one state of the database, beside the writer and off the threads that tasks share.
  /// - Returns: What `body` returns.
  /// - Throws: What `body` throws. `StorageError`: `statementFailed` for SQL that is wrong or would write, `damaged`,
  ///   `closed`. `CancellationError` when the task is cancelled before the closure began.
  public func read<R: Sendable>(
    _ body: @escaping @Sendable (SQLiteReadTransaction) throws -> R
  ) async throws -> R {
    try await engine.withReadTransaction(body)
  }

  /// Applies the migrations that this file has not seen, in order, each in a transaction of its own.
  ///
  /// Processes that open a file at once apply each step once. A file that has seen all of them is only read.
  /// - Throws: What the failing step throws; the steps before it stay applied, the failing one has left nothing.
  ///   `StorageError`: `newerFormat` when the file has seen a step that is not in the list: a newer application wrote
  ///   it, and nothing was changed.
  public func migrate(_ migrations: [SQLiteMigration]) async throws {
    let backend = engine.description
    let names = migrations.map(\.name)
    let applied = try await read { try $0.query(Self.applied) { $0.text(0) } }
    try Self.check(applied, names, backend)
    for migration in migrations where !applied.contains(migration.name) {
      try await write { transaction in
        // Another process may have been first.
        let applied = try transaction.query(Self.applied) { $0.text(0) }
        try Self.check(applied, names, backend)
        guard !applied.contains(migration.name) else { return }
        try migration.apply(transaction)
        try transaction.execute(
          "INSERT INTO coffer_migrations (name, position) VALUES (?1, ?2)",
          [.text(migration.name), .integer(Int64(applied.count))])
      }
    }
  }

  private static let applied = "SELECT name FROM coffer_migrations ORDER BY position"

  private static func check(_ applied: [String], _ names: [String], _ backend: String) throws {
    guard let unknown = applied.first(where: { !names.contains($0) }) else { return }
    throw StorageError(
      .newerFormat, "The database has the migration '\(unknown)', which this application does not know.",
      advice: "Update the application. Nothing was changed.", backend: backend)
  }

  /// Finishes what was accepted and ends the use of the file by this database and its store.
  public func close() async throws { try await engine.close() }
}
