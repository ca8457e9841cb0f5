public import Foundation

// The same calls with the key as text. Each throws `StorageError` with code `invalidKey` for an empty string or one of
// more than `StoreKey.maximumSize` bytes; make a `StoreKey` once where the same key is used often.
extension TypedStore {
  /// Stores a value; see ``save(_:for:durability:transaction:)-(_,StoreKey,_,_)``.
  public func save<T: Encodable & Sendable>(
    _ value: T, for key: String, durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    try await save(value, for: StoreKey(key), durability: durability, transaction: transaction)
  }

  /// The value of a key; see ``load(_:for:)-(_,StoreKey)``.
  public func load<T: Decodable & Sendable>(_ type: T.Type, for key: String) async throws -> T? {
    try await load(type, for: StoreKey(key))
  }

  /// The value of a key if it is in memory; see ``cached(_:for:)-(_,StoreKey)``. No key that is invalid is in memory.
  public func cached<T: Sendable>(_ type: T.Type, for key: String) -> T? {
    guard let key = try? StoreKey(key) else { return nil }
    return cached(type, for: key)
  }

  /// Removes a value; see ``delete(_:durability:transaction:)-(StoreKey,_,_)``.
  public func delete(
    _ key: String, durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    try await delete(StoreKey(key), durability: durability, transaction: transaction)
  }

  /// Whether there is a value; see ``exists(_:)-(StoreKey)``.
  public func exists(_ key: String) async throws -> Bool {
    try await exists(StoreKey(key))
  }

  /// Changes a value depending on what it is; see ``update(_:for:durability:transaction:_:)-(_,StoreKey,_,_,_)``.
  @discardableResult
  public func update<T: Codable & Sendable>(
    _ type: T.Type, for key: String, durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ transform: @Sendable (T?) throws -> T?
  ) async throws -> T? {
    try await update(type, for: StoreKey(key), durability: durability, transaction: transaction, transform)
  }

  /// Changes a value in place; see ``update(_:default:durability:transaction:_:)-(StoreKey,_,_,_,_)``.
  @discardableResult
  public func update<T: Codable & Sendable>(
    _ key: String, default defaultValue: T, durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ transform: @Sendable (inout T) throws -> Void
  ) async throws -> T {
    try await update(StoreKey(key), default: defaultValue, durability: durability, transaction: transaction, transform)
  }

  /// Stores several values in one commit; see the same with keys.
  @_disfavoredOverload  // an empty list is a list of keys
  public func saveAll<T: Encodable & Sendable>(
    _ items: [(String, T)], durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    let items = try items.map { (try StoreKey($0.0), $0.1) }
    try await saveAll(items, durability: durability, transaction: transaction)
  }

  /// The values of several keys; see the same with keys.
  @_disfavoredOverload  // an empty list is a list of keys
  public func loadAll<T: Decodable & Sendable>(_ type: T.Type, keys: [String]) async throws -> [T?] {
    try await loadAll(type, keys: keys.map { try StoreKey($0) })
  }

  /// The changes of one key from now on; see the same with a key.
  public func changes(of key: String) throws -> AsyncStream<KeyChange> {
    changes(of: try StoreKey(key))
  }

  /// The present value, then the value after each change; see the same with a key.
  public func values<T: Decodable & Sendable>(
    of key: String, as type: T.Type
  ) throws -> AsyncThrowingStream<T?, any Error> {
    values(of: try StoreKey(key), as: type)
  }
}
