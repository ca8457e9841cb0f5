public import Foundation

// The same calls with the key as text. Create a `KeyName` once where the same key is used often.
extension TypedStore {
  /// Stores a value; see ``save(_:for:expires:durability:transaction:)-(_,KeyName,_,_,_)``.
  /// - Throws: The errors of that method, and `invalidKey` if the key is empty or too long.
  public func save<T: Encodable & Sendable>(
    _ value: T, for key: String, expires: Date? = nil, durability: StoreDurability = .full,
    transaction: TransactionID? = nil
  ) async throws {
    try await save(value, for: KeyName(key), expires: expires, durability: durability, transaction: transaction)
  }

  /// Returns the value of a key, or `nil` when it is proven absent; see ``load(_:for:)-(_,KeyName)``.
  /// - Throws: The errors of that method, and `invalidKey` if the key is empty or too long.
  public func load<T: Decodable & Sendable>(_ type: T.Type, for key: String) async throws -> T? {
    try await load(type, for: KeyName(key))
  }

  /// Returns the value of a key if it is cached, or `nil`, also for an invalid key; see
  /// ``cached(_:for:)-(_,KeyName)``.
  public func cached<T: Sendable>(_ type: T.Type, for key: String) -> T? {
    guard let key = try? KeyName(key) else { return nil }
    return cached(type, for: key)
  }

  /// Removes a value; see ``delete(_:durability:transaction:)-(KeyName,_,_)``.
  /// - Throws: The errors of that method, and `invalidKey` if the key is empty or too long.
  public func delete(
    _ key: String, durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    try await delete(KeyName(key), durability: durability, transaction: transaction)
  }

  /// Returns whether there is a value; see ``exists(_:)-(KeyName)``.
  /// - Throws: The errors of that method, and `invalidKey` if the key is empty or too long.
  public func exists(_ key: String) async throws -> Bool {
    try await exists(KeyName(key))
  }

  /// Atomically replaces a value; see ``update(_:for:durability:transaction:_:)-(_,KeyName,_,_,_)``.
  /// - Throws: The errors of that method, and `invalidKey` if the key is empty or too long.
  @discardableResult
  public func update<T: Codable & Sendable>(
    _ type: T.Type, for key: String, durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ transform: @Sendable (T?) throws -> T?
  ) async throws -> T? {
    try await update(type, for: KeyName(key), durability: durability, transaction: transaction, transform)
  }

  /// Atomically modifies a value; see ``update(_:default:durability:transaction:_:)-(KeyName,_,_,_,_)``.
  /// - Throws: The errors of that method, and `invalidKey` if the key is empty or too long.
  @discardableResult
  public func update<T: Codable & Sendable>(
    _ key: String, default defaultValue: T, durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ transform: @Sendable (inout T) throws -> Void
  ) async throws -> T {
    try await update(KeyName(key), default: defaultValue, durability: durability, transaction: transaction, transform)
  }

  /// Stores several values in one commit; see the overload that takes `KeyName` values.
  /// - Throws: The errors of that overload, and `invalidKey` if a key is empty or too long.
  @_disfavoredOverload  // an empty list is a list of keys
  public func saveAll<T: Encodable & Sendable>(
    _ items: [(String, T)], durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    let items = try items.map { (try KeyName($0.0), $0.1) }
    try await saveAll(items, durability: durability, transaction: transaction)
  }

  /// Returns the values of several keys; see the overload that takes `KeyName` values.
  /// - Throws: The errors of that overload, and `invalidKey` if a key is empty or too long.
  @_disfavoredOverload  // an empty list is a list of keys
  public func loadAll<T: Decodable & Sendable>(_ type: T.Type, keys: [String]) async throws -> [T?] {
    try await loadAll(type, keys: keys.map { try KeyName($0) })
  }

  /// Returns the changes of one key from now on; see ``changes(of:)-(KeyName)``.
  /// - Throws: `StorageError` with code `invalidKey` if the key is empty or too long.
  public func changes(of key: String) throws -> AsyncStream<KeyChange> {
    changes(of: try KeyName(key))
  }

  /// Returns a stream of the current value and the value after each change; see the overload that takes a `KeyName`.
  /// - Throws: `StorageError` with code `invalidKey` if the key is empty or too long.
  public func values<T: Decodable & Sendable>(
    of key: String, as type: T.Type
  ) throws -> AsyncStream<Result<T?, StorageError>> {
    values(of: try KeyName(key), as: type)
  }
}
