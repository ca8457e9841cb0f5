public import CofferSQLite

/// One step of an application's schema, which is applied to each file once: see ``SQLiteDatabase/migrate(_:)``.
///
/// ```swift
/// let migrations = [
///   SQLiteMigration("1 sales") { transaction in
///     try transaction.execute("CREATE TABLE sales (item TEXT NOT NULL, cents INTEGER NOT NULL)")
///   },
///   SQLiteMigration("2 sales by item") { try $0.execute("CREATE INDEX sales_by_item ON sales (item)") },
/// ]
/// ```
///
/// Never change, rename, remove or reorder a released step; add another at the end.
public struct SQLiteMigration: Sendable {
  /// How the file remembers the step.
  public let name: String
  /// What it does, in a transaction of its own.
  public let apply: @Sendable (SQLiteTransaction) throws -> Void

  /// - Parameters:
  ///   - name: how the file remembers the step; unique in its list.
  ///   - apply: what it does, to tables and to keys. It runs in a transaction of its own, in which the step is noted.
  public init(_ name: String, _ apply: @escaping @Sendable (SQLiteTransaction) throws -> Void) {
    self.name = name
    self.apply = apply
  }
}
