public import CofferCore
public import CofferSQLite

/// Values in transactions of a database over the same engine, which change tables beside them.
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
  /// Stores a value in a transaction, as `save(_:for:)` would on its own.
  /// - Parameters:
  ///   - value: the value.
  ///   - key: its name.
  ///   - transaction: of a database over this store's engine.
  /// - Throws: `StorageError`; after `encodingFailed` nothing was written.
  public func save<T: Encodable>(_ value: T, for key: StoreKey, in transaction: SQLiteTransaction) throws {
    try transaction.put(key, coding.encode(value, for: key))
  }

  /// Reads a value as it is in a transaction; `nil` when it is absent.
  /// - Parameters:
  ///   - type: what it was stored as.
  ///   - key: its name.
  ///   - transaction: of a database over this store's engine.
  /// - Throws: `StorageError`, `decodingFailed` when the bytes are not of the type.
  public func load<T: Decodable>(_ type: T.Type, for key: StoreKey, in transaction: SQLiteTransaction) throws -> T? {
    try transaction.value(key).map { try coding.decode(type, from: $0, for: key) }
  }

  /// Stores a value in a transaction; the name of the key is checked.
  /// - Throws: `StorageError`, as with a `StoreKey`, and `invalidKey`.
  public func save<T: Encodable>(_ value: T, for key: String, in transaction: SQLiteTransaction) throws {
    try save(value, for: StoreKey(key), in: transaction)
  }

  /// Reads a value as it is in a transaction; the name of the key is checked.
  /// - Throws: `StorageError`, as with a `StoreKey`, and `invalidKey`.
  public func load<T: Decodable>(_ type: T.Type, for key: String, in transaction: SQLiteTransaction) throws -> T? {
    try load(type, for: StoreKey(key), in: transaction)
  }
}
