public import Foundation

/// Typed values by key (document 1).
///
/// ```swift
/// let persistence: any PersistenceCapability = AdapterBasedPersistence(adapter: MemoryAdapter())
/// try await persistence.save(theme, for: "theme")
/// let theme = try await persistence.load(Theme.self, for: "theme") ?? .system
/// ```
public protocol PersistenceCapability: Capability {
  /// Stores a value, replacing what was there.
  func save<T: Codable>(_ value: T, for key: String) async throws
  /// The value of a key; `nil` only when it is proven that there is none.
  func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T?
  /// Removes a value. A missing one is no error.
  func delete(key: String) async throws
  /// Whether there is a value. It cannot throw, so it says `false` only for what is proven absent.
  func exists(key: String) async -> Bool
  /// Stores several values, all or none where the backend can.
  func saveBatch<T: Codable>(_ items: [(key: String, value: T)]) async throws
  /// The values of several keys, in the same order.
  func loadBatch<T: Codable>(_ type: T.Type, keys: [String]) async throws -> [T?]
  /// Removes several values, all or none where the backend can. Missing ones are no error.
  func deleteBatch(keys: [String]) async throws
  /// Brings what is stored from one version of its schema to another.
  func migrate(from oldVersion: String, to newVersion: String) async throws
}

extension PersistenceCapability {
  /// The bytes of a key as they are stored; `nil` when there are none.
  public func load(key: String) async throws -> Data? {
    try await load(Data.self, for: key)
  }
}
