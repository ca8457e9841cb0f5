extension SQLiteDatabase {
  /// A migration of an application's schema, which ``SQLiteDatabase/migrate(_:)`` applies to each file once.
  ///
  /// ```swift
  /// let migrations = [
  ///   SQLiteDatabase.Migration("1 sales") { transaction in
  ///     try transaction.execute("CREATE TABLE sales (item TEXT NOT NULL, cents INTEGER NOT NULL)")
  ///   },
  ///   SQLiteDatabase.Migration("2 sales by item") { try $0.execute("CREATE INDEX sales_by_item ON sales (item)") },
  /// ]
  /// ```
  ///
  /// Never change, rename, remove or reorder a released migration; append a new one instead.
  public struct Migration: Sendable {
    /// The name under which the file records the migration.
    public let name: String
    /// Applies the migration within its own transaction.
    public let apply: @Sendable (SQLiteDatabase.Transaction) throws -> Void

    /// - Parameters:
    ///   - name: the name under which the file records the migration; unique in its list.
    ///   - apply: changes tables and keys. It runs in its own transaction, which also records the migration.
    public init(_ name: String, _ apply: @escaping @Sendable (SQLiteDatabase.Transaction) throws -> Void) {
      self.name = name
      self.apply = apply
    }
  }
}
