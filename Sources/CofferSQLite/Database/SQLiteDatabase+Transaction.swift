import CofferCSQLite
public import CofferCore
public import Foundation

extension SQLiteDatabase {
  /// A write transaction on the application's own tables and the store's keys.
  ///
  /// Use it only inside the closure that receives it, and on the closure's thread; afterwards it throws `closed`.
  /// Statements are compiled once per connection, so pass values as arguments instead of including them in the SQL.
  ///
  /// A statement that fails leaves no changes. Let its error end the closure, which rolls back the transaction, or
  /// catch it and continue.
  public final class Transaction {
    private let committer: GroupCommitter
    private var isOpen = true
    /// The changes to keys so far, for the journal.
    private(set) var operations: [WriteBatch.Operation] = []

    init(_ committer: GroupCommitter) { self.committer = committer }

    /// The revision that the transaction receives when it commits.
    package var revision: StoreRevision { committer.revision.next }

    func end() { isOpen = false }

    /// Runs a statement and ignores its rows. Without arguments, `sql` may contain several statements separated by `;`.
    /// - Parameters:
    ///   - sql: a statement with the parameters `?1`, `?2` and so on.
    ///   - arguments: a value for each parameter.
    /// - Throws: `StorageError`: `statementFailed` if the SQL is invalid, violates a constraint or ends the
    ///   transaction; `diskFull`; `damaged`.
    public func execute(_ sql: String, _ arguments: [SQLiteValue] = []) throws {
      try statements().execute(sql, arguments)
    }

    /// Runs a query and returns the results of `row` for each row. The query sees the transaction's earlier changes.
    /// - Parameters:
    ///   - sql: a statement with the parameters `?1`, `?2` and so on.
    ///   - arguments: a value for each parameter.
    ///   - row: called once for each row; it may run queries itself.
    /// - Throws: The errors of `row` and those of ``execute(_:_:)``.
    public func query<R>(
      _ sql: String, _ arguments: [SQLiteValue] = [], _ row: (SQLiteRow) throws -> R
    ) throws -> [R] {
      try statements().query(sql, arguments, row)
    }

    /// The row id of the row that the last `INSERT` has added. Ask right after one that has: earlier transactions and
    /// virtual tables leave theirs. Cheaper than `RETURNING`, for which SQLite prepares to undo the statement. 0 after
    /// the transaction.
    public var lastInsertedRowID: Int64 { isOpen ? sqlite3_last_insert_rowid(committer.connection.handle) : 0 }

    /// Returns the value of a key in this transaction, or `nil` if the key is absent or its value has expired.
    /// - Throws: `StorageError`: `damaged` if the value does not match its checksum.
    public func value(_ key: KeyName) throws -> Data? { try storedValue(key, presentAt: committer.clock.now()) }

    /// Returns the value of a key.
    /// - Parameter date: the date at which an expired value is absent; `nil` for a value that is stored at all.
    package func storedValue(_ key: KeyName, presentAt date: Date? = nil) throws -> Data? {
      let name = Data(key.string.utf8)
      let sql = "SELECT \(ValueRow.columns) FROM coffer_values WHERE key = ?1"
      let rows = try query(sql, [.blob(name)]) { row -> Result<Data?, any Error> in
        if let date, row.value.isExpired(key, at: date) { return .success(nil) }
        guard row.value.isWhole(key) else {
          return .failure(StorageError.damagedValue(key, in: committer.connection.file))
        }
        return .success(row.blob(3))
      }
      return try rows.first?.get()
    }

    /// Stores a value with its attributes under a key, replacing any existing value.
    /// - Throws: `StorageError`: `valueTooLarge`, `diskFull`; `keyUnavailable` if all values of the store are
    ///   encrypted.
    public func put(_ key: KeyName, _ value: Data, _ attributes: ValueAttributes = .none) throws {
      _ = try statements()
      if SealedValue.isRefused(value, attributes) { try committer.requirePermitted(key) }
      try change(.put(key, value, attributes))
    }

    /// Removes a key and its value. Does nothing if the key is absent.
    public func delete(_ key: KeyName) throws { try change(.delete(key)) }

    /// Removes all keys that start with a prefix, or all keys if `prefix` is `nil`. The application's own tables are
    /// not changed.
    public func clear(_ prefix: KeyName?) throws { try change(.clear(prefix: prefix)) }

    /// Applies an operation on a value or a system record.
    package func change(_ operation: WriteBatch.Operation) throws {
      _ = try statements()
      try WriteBatch([operation]).check(
        StoreCapabilities(SQLiteEngine.features, maximumValueSize: committer.maximumValueSize),
        location: committer.connection.file.description)
      try committer.applyNow(operation)
      operations.append(operation)
    }

    private func statements() throws -> StatementCache {
      guard isOpen else {
        throw StorageError(
          .closed, "The transaction was used after its closure had returned.",
          advice: "Use it only inside the closure.", location: committer.connection.file.description)
      }
      guard committer.connection.isInTransaction else { throw committer.endedTransaction }
      return committer.statements
    }
  }
}

extension SQLiteDatabase {
  /// A read transaction, which sees one state of the tables. Use it only inside the closure that receives it.
  public struct ReadTransaction {
    let statements: StatementCache

    /// Runs a query and returns the results of `row` for each row.
    /// - Parameters:
    ///   - sql: a statement with the parameters `?1`, `?2` and so on. A statement that writes fails.
    ///   - arguments: a value for each parameter.
    ///   - row: called once for each row; it may run queries itself.
    /// - Throws: The errors of `row`. `StorageError`: `statementFailed`, `damaged`.
    public func query<R>(
      _ sql: String, _ arguments: [SQLiteValue] = [], _ row: (SQLiteRow) throws -> R
    ) throws -> [R] {
      try statements.query(sql, arguments, row)
    }
  }
}

extension GroupCommitter {
  /// The error of a closure whose statements, or whose error, made SQLite end the transaction.
  var endedTransaction: StorageError {
    StorageError(
      .statementFailed, "The transaction ended before its closure returned.",
      advice: "Nothing of it was stored. Rethrow statement errors from the closure, and do not commit inside it.",
      location: connection.file.description)
  }
}
