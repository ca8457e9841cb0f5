public import CofferCore
public import Foundation

/// A write transaction over an application's own tables and the store's keys.
///
/// Use it only inside the closure that was given it, and on its thread: afterwards it throws `closed`. Statements are
/// compiled once per connection, so give values as arguments, not as parts of the SQL.
///
/// An error of a statement undoes what the statement has done. Let it end the closure, which undoes the transaction, or
/// catch it and go on.
public final class SQLiteTransaction {
  private let committer: GroupCommitter
  private var isOpen = true
  /// The changes of keys so far, for the journal.
  private(set) var operations: [WriteBatch.Operation] = []

  init(_ committer: GroupCommitter) { self.committer = committer }

  /// The revision that the transaction will have.
  package var revision: StoreRevision { committer.revision.next }

  func end() { isOpen = false }

  /// Runs a statement that returns nothing of interest; without arguments there may be several, divided by `;`.
  /// - Parameters:
  ///   - sql: a statement with the parameters `?1`, `?2` and so on.
  ///   - arguments: a value for each parameter.
  /// - Throws: `StorageError`: `statementFailed` when the SQL is wrong, breaks a constraint or ends the transaction,
  ///   `diskFull`, `damaged`.
  public func execute(_ sql: String, _ arguments: [SQLiteValue] = []) throws {
    try statements().execute(sql, arguments)
  }

  /// Runs a query and collects what `row` makes of each row. Sees the changes made before it in the transaction.
  /// - Parameters:
  ///   - sql: a statement with the parameters `?1`, `?2` and so on.
  ///   - arguments: a value for each parameter.
  ///   - row: called once for each row; it may query, too.
  /// - Throws: What `row` throws, and what ``execute(_:_:)`` does.
  public func query<R>(
    _ sql: String, _ arguments: [SQLiteValue] = [], _ row: (SQLiteRow) throws -> R
  ) throws -> [R] {
    try statements().query(sql, arguments, row)
  }

  /// The value of a key as it is in this transaction; `nil` when it is absent.
  /// - Throws: `StorageError`: `damaged` when the value is.
  public func value(_ key: StoreKey) throws -> Data? {
    let name = Data(key.string.utf8)
    let rows = try query("SELECT \(ValueRow.columns) FROM coffer_values WHERE key = ?1", [.blob(name)]) { row in
      row.value.isWhole(key) ? row.blob(3) : nil
    }
    guard let found = rows.first else { return nil }
    guard let value = found else {
      throw StorageError.damagedValue(key, backend: committer.connection.place.description)
    }
    return value
  }

  /// Stores a value with its attributes under a key, replacing what was there.
  /// - Throws: `StorageError`: `valueTooLarge`, `diskFull`.
  public func put(_ key: StoreKey, _ value: Data, _ attributes: ValueAttributes = .none) throws {
    try apply(.put(key, value, attributes))
  }

  /// Removes a key. An absent one is no error.
  public func delete(_ key: StoreKey) throws { try apply(.delete(key)) }

  /// Removes the keys that start with a prefix; all keys for `nil`. Tables are not touched.
  public func clear(_ prefix: StoreKey?) throws { try apply(.clear(prefix: prefix)) }

  /// Puts or removes a record of the library's own.
  package func change(_ operation: WriteBatch.Operation) throws { try apply(operation) }

  private func apply(_ operation: WriteBatch.Operation) throws {
    _ = try statements()
    try WriteBatch([operation]).check(
      StoreCapabilities(SQLiteEngine.features, maximumValueSize: committer.maximumValueSize),
      backend: committer.connection.place.description)
    try committer.applyNow(operation)
    operations.append(operation)
  }

  private func statements() throws -> StatementCache {
    guard isOpen else {
      throw StorageError(
        .closed, "The transaction was used after the call that gave it had ended.",
        advice: "Do everything inside the closure.", backend: committer.connection.place.description)
    }
    guard committer.connection.isInTransaction else { throw committer.endedTransaction }
    return committer.statements
  }
}

/// A read transaction: one state of the tables. Use it only inside the closure that was given it.
public struct SQLiteReadTransaction {
  let statements: StatementCache

  /// Runs a query and collects what `row` makes of each row.
  /// - Parameters:
  ///   - sql: a statement with the parameters `?1`, `?2` and so on. One that would write is refused.
  ///   - arguments: a value for each parameter.
  ///   - row: called once for each row; it may query, too.
  /// - Throws: What `row` throws. `StorageError`: `statementFailed`, `damaged`.
  public func query<R>(
    _ sql: String, _ arguments: [SQLiteValue] = [], _ row: (SQLiteRow) throws -> R
  ) throws -> [R] {
    try statements.query(sql, arguments, row)
  }
}
