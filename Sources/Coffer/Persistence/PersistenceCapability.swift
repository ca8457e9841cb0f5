public import Foundation

/// A capability that stores typed values by key.
///
/// ```swift
/// let persistence: any PersistenceCapability = AdapterBasedPersistence(adapter: MemoryAdapter())
/// try await persistence.save(theme, for: "theme")
/// let theme = try await persistence.load(Theme.self, for: "theme") ?? .system
/// ```
public protocol PersistenceCapability: Capability {
  /// Stores a value, replacing any existing one.
  /// - Throws: Any error if the value could not be encoded or stored.
  func save<T: Codable>(_ value: T, for key: String) async throws
  /// Returns the value of a key, or `nil` only when it is proven absent.
  /// - Throws: Any error if it cannot be determined whether there is a value, or if it cannot be decoded.
  func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T?
  /// Removes the value of a key. Removing a missing value is not an error.
  /// - Throws: Any error if the value may still be stored.
  func delete(key: String) async throws
  /// Returns whether there is a value. Since it cannot throw, it returns `false` only when the value is proven absent.
  func exists(key: String) async -> Bool
  /// Stores several values, atomically where the engine supports it.
  /// - Throws: Any error if one of the values could not be encoded or stored.
  func saveBatch<T: Codable>(_ items: [(key: String, value: T)]) async throws
  /// Returns the values of several keys, in the same order.
  /// - Throws: Any error if one of the values cannot be read or decoded.
  func loadBatch<T: Codable>(_ type: T.Type, keys: [String]) async throws -> [T?]
  /// Removes several values, atomically where the engine supports it. Removing missing values is not an error.
  /// - Throws: Any error if one of the values may still be stored.
  func deleteBatch(keys: [String]) async throws
  /// Migrates the stored values from one schema version to another.
  /// - Throws: Any error if the values could not be migrated.
  func migrate(from oldVersion: String, to newVersion: String) async throws
}

extension PersistenceCapability {
  /// Returns the stored bytes of a key, or `nil` when they are proven absent.
  /// - Throws: Any error if the bytes cannot be read.
  public func load(key: String) async throws -> Data? {
    try await load(Data.self, for: key)
  }
}
