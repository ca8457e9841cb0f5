public import CofferCore
public import Foundation

/// A database of application-defined tables in the file of a store. The tables share the store's writer, so that one
/// transaction can change tables and keys together, and its journal, which records the commits of both.
///
/// ```swift
/// let database = try await SQLiteDatabase.open(at: "/var/lib/till/till.db", migrations: migrations)
///
/// try await database.write { transaction in
///   try transaction.execute("INSERT INTO sales (item, cents) VALUES (?1, ?2)", ["tea", 250])
///   try transaction.put(KeyName("last-item"), Data("tea".utf8))
/// }
/// let total = try await database.read { try $0.query("SELECT total(cents) FROM sales") { $0.integer(0) }[0] }
/// ```
///
/// The store itself is ``engine``. Its changes (`engine.changes(since:)`), backups (`engine.backup(to:)`) and
/// restorations include the tables. Table names that begin with `coffer_` are reserved for the store.
///
/// Any number of tasks, databases and processes can use one file. Foreign keys are enforced.
public final class SQLiteDatabase: Sendable {
  /// The store in the same file.
  public let engine: SQLiteEngine
  /// The origin of the commits that this database makes.
  public let origin: StoreOrigin

  /// Creates a database in the file of an open store. Migrations are not applied: see ``migrate(_:)``.
  public init(engine: SQLiteEngine, origin: StoreOrigin = StoreOrigin()) {
    self.engine = engine
    self.origin = origin
  }

  /// Opens a database file, creating it unless the configuration excludes that, and applies the missing migrations.
  ///
  /// If the file cannot be written and no migration is missing, it is opened read-only and `engine.isReadOnly` is true.
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - migrations: the schema of the application, as the list of all its migrations.
  ///   - configuration: the configuration of the store.
  /// - Throws: `StorageError` as `SQLiteEngine.open(at:configuration:)` and ``migrate(_:)`` do, and the error of a
  ///   migration that fails.
  public static func open(
    at path: String, migrations: [SQLiteDatabase.Migration],
    configuration: SQLiteEngine.Configuration = SQLiteEngine.Configuration()
  ) async throws -> SQLiteDatabase {
    try await migrated(SQLiteEngine.open(at: path, configuration: configuration), migrations)
  }

  private static func migrated(_ engine: SQLiteEngine, _ migrations: [SQLiteDatabase.Migration]) async throws
    -> SQLiteDatabase
  {
    do {
      let database = SQLiteDatabase(engine: engine)
      try await database.migrate(migrations)
      return database
    } catch {
      try? await engine.close()
      throw error
    }
  }

  /// Opens the database at a file URL, as for a path.
  /// - Throws: The errors of opening a path; `StorageError` with code `inputOutput` if `url` is not a file URL.
  public static func open(
    at url: URL, migrations: [SQLiteDatabase.Migration],
    configuration: SQLiteEngine.Configuration = SQLiteEngine.Configuration()
  ) async throws -> SQLiteDatabase {
    try await migrated(SQLiteEngine.open(at: url, configuration: configuration), migrations)
  }

  /// Runs a closure in one transaction on the writer's thread. If it throws, the transaction is rolled back.
  ///
  /// A transaction that changed anything is one commit in the journal. The commit's selection holds the changed keys;
  /// it is empty if only tables were changed. Transactions run one at a time, so `body` should neither block nor
  /// compute for long.
  /// - Parameters:
  ///   - durability: the durability that the transaction has when this returns.
  ///   - transaction: the logical change that it belongs to; a new one by default.
  ///   - body: the statements of the transaction. It is called at most once.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`. `StorageError`: `statementFailed` for invalid SQL or a violated constraint, `busy`,
  ///   `diskFull`, `readOnly` if the file is open for reading only, `closed`.
  public func write<R: Sendable>(
    durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ body: @escaping @Sendable (SQLiteDatabase.Transaction) throws -> R
  ) async throws -> R {
    try await engine.transact(
      TransactionHeader(origin: origin, transaction: transaction, durability: durability), body)
  }

  /// Runs a closure on a snapshot of the database, concurrently with the writer and off the cooperative thread pool.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`. `StorageError`: `statementFailed` for invalid or writing SQL, `damaged`, `closed`.
  ///   `CancellationError` if the task is cancelled before the closure begins.
  public func read<R: Sendable>(
    _ body: @escaping @Sendable (SQLiteDatabase.ReadTransaction) throws -> R
  ) async throws -> R {
    try await engine.withReadTransaction(body)
  }

  /// Applies the migrations that are missing in this file, in order, each in its own transaction.
  ///
  /// If several processes open a file at once, each migration is still applied exactly once. A file with all migrations
  /// is only read.
  /// - Throws: The error of the migration that fails; it is rolled back, and the migrations before it stay applied.
  ///   `StorageError`: `newerFormat` if the file has a migration that is not in the list because a newer application
  ///   wrote it. Nothing is changed then.
  public func migrate(_ migrations: [SQLiteDatabase.Migration]) async throws {
    let location = engine.description
    let names = migrations.map(\.name)
    let applied = try await read { try $0.query(Self.applied) { $0.text(0) } }
    try Self.check(applied, names, location)
    for migration in migrations where !applied.contains(migration.name) {
      try await write { transaction in
        // Another process may have applied it since the read above.
        let applied = try transaction.query(Self.applied) { $0.text(0) }
        try Self.check(applied, names, location)
        guard !applied.contains(migration.name) else { return }
        try migration.apply(transaction)
        try transaction.execute(
          "INSERT INTO coffer_migrations (name, position) VALUES (?1, ?2)",
          [.text(migration.name), .integer(Int64(applied.count))])
      }
    }
  }

  private static let applied = "SELECT name FROM coffer_migrations ORDER BY position"

  private static func check(_ applied: [String], _ names: [String], _ location: String) throws {
    guard let unknown = applied.first(where: { !names.contains($0) }) else { return }
    throw StorageError(
      .newerFormat, "The database has the migration '\(unknown)', which this application does not declare.",
      advice: "Update the application. Nothing was changed.", location: location)
  }

  /// Gives up the cached pages of the file: up to 8 MB for the writer and for each of up to four readers. The next
  /// reads take about a millisecond longer. For a program that rests, or that the system asks for memory.
  public func releaseMemory() async { await engine.releaseMemory() }

  /// Closes this database and its ``engine`` after all accepted commits have finished.
  public func close() async throws { try await engine.close() }
}
