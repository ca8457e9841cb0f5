public import CofferCore
public import CofferSQLite

/// Reading and storing typed values in database transactions, together with changes of tables in the same database.
///
/// ```swift
/// let store = TypedStore(engine: database.engine)
/// try await database.write { transaction in
///   try transaction.execute("INSERT INTO sales (item, cents) VALUES (?1, ?2)", ["tea", 250])
///   let count = try store.load(Int.self, for: "count", in: transaction) ?? 0
///   try store.save(count + 1, for: "count", in: transaction)
/// }
/// ```
extension TypedStore {
  /// Stores a value as part of a transaction, encoded as by `save(_:for:)`.
  /// - Parameters:
  ///   - value: the value.
  ///   - key: the key of the value.
  ///   - transaction: a transaction of a database over this store's engine.
  /// - Throws: `StorageError`; after `encodingFailed` nothing was written; `unsupported` for a key with a schema, or
  ///   with a pending write of a store with write-back.
  public func save<T: Encodable>(_ value: T, for key: KeyName, in transaction: SQLiteDatabase.Transaction) throws {
    try requireUnversioned(key)
    try requireFlushed(key)
    try transaction.put(key, coding.bytes(of: value, for: key))
  }

  /// Returns a value as seen by a transaction, or `nil` when it is absent.
  /// - Parameters:
  ///   - type: the type of the value.
  ///   - key: the key of the value.
  ///   - transaction: a transaction of a database over this store's engine.
  /// - Throws: `StorageError`: `decodingFailed` when the stored bytes are not a `T`; `unsupported` for a key with a
  ///   schema, or with a pending write of a store with write-back.
  public func load<T: Decodable>(_ type: T.Type, for key: KeyName, in transaction: SQLiteDatabase.Transaction) throws
    -> T?
  {
    try requireUnversioned(key)
    try requireFlushed(key)
    return try transaction.value(key).map { try coding.plainDecode(type, from: EncodedValue($0), for: key) }
  }

  /// Refuses a key with a schema: a database transaction reads and writes no attributes, so it sees no versions.
  private func requireUnversioned(_ key: KeyName) throws {
    guard coding.schema?[key] != nil else { return }
    throw StorageError(
      .unsupported, "A database transaction cannot read or write a value whose key has a schema.",
      advice: "Use TypedStore.transaction for this key. Nothing was changed by this call.",
      location: engine.description, key: key)
  }

  /// Refuses a key with a pending write, which would be committed after the transaction and replace its value.
  private func requireFlushed(_ key: KeyName) throws {
    guard pending?.value(of: key) != nil else { return }
    throw StorageError(
      .unsupported, "The value has a pending write, which a database transaction cannot see.",
      advice: "Call flush() of the store before the transaction. Nothing was changed by this call.",
      location: engine.description, key: key)
  }

  /// Stores a value as part of a transaction, with the key as text.
  /// - Throws: `StorageError`, as with a `KeyName`, and `invalidKey`.
  public func save<T: Encodable>(_ value: T, for key: String, in transaction: SQLiteDatabase.Transaction) throws {
    try save(value, for: KeyName(key), in: transaction)
  }

  /// Returns a value as seen by a transaction, with the key as text.
  /// - Throws: `StorageError`, as with a `KeyName`, and `invalidKey`.
  public func load<T: Decodable>(_ type: T.Type, for key: String, in transaction: SQLiteDatabase.Transaction) throws
    -> T?
  {
    try load(type, for: KeyName(key), in: transaction)
  }
}
