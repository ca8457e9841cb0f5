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
  /// Returns the stored bytes of a key, or `nil` when they are proven absent.
  /// - Throws: Any error if the bytes cannot be read.
  func load(key: String) async throws -> Data?
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

/// The calls that a conformer of ``save(_:for:)``, ``load(_:for:)``, ``delete(key:)`` and ``exists(key:)`` has without
/// declaring them: it is always available, and batches are carried out value by value.
extension PersistenceCapability {
  public var isAvailable: Bool { get async { true } }
  public func activate() async throws {}
  public func deactivate() async {}

  /// Stores several values one by one. The values before the one that failed are stored.
  /// - Throws: Any error of ``save(_:for:)``.
  public func saveBatch<T: Codable>(_ items: [(key: String, value: T)]) async throws {
    for item in items { try await save(item.value, for: item.key) }
  }

  /// Returns the values of several keys, read one by one.
  /// - Throws: Any error of ``load(_:for:)``.
  public func loadBatch<T: Codable>(_ type: T.Type, keys: [String]) async throws -> [T?] {
    var values: [T?] = []
    for key in keys { values.append(try await load(type, for: key)) }
    return values
  }

  /// Removes several values one by one. The values before the one that failed are removed.
  /// - Throws: Any error of ``delete(key:)``.
  public func deleteBatch(keys: [String]) async throws {
    for key in keys { try await delete(key: key) }
  }

  /// Does nothing when the versions are equal.
  /// - Throws: `StorageError` with code `unsupported` when they differ: the conformer has no migration.
  public func migrate(from oldVersion: String, to newVersion: String) async throws {
    guard oldVersion != newVersion else { return }
    throw StorageError(
      .unsupported,
      "\(Self.self) has no migration from version '\(oldVersion.escapingControlCharacters)' to "
        + "'\(newVersion.escapingControlCharacters)'.",
      advice: "Nothing was changed. Load the values, convert them and save them.")
  }

  /// Returns the value of a key as `Data`, for a conformer that stores `Data` as it is.
  /// - Throws: Any error of ``load(_:for:)``.
  public func load(key: String) async throws -> Data? {
    try await load(Data.self, for: key)
  }
}
