/// What an application injects in place of a router (document 4): reading and writing values by their keys.
///
/// ```swift
/// struct Settings {
///   let storage: any StorageProviding
///   func isDark() async throws -> Bool { try await storage.get(.theme) == .dark }
/// }
///
/// let settings = Settings(storage: StorageRouter())   // in a test
/// ```
public protocol StorageProviding: Sendable {
  /// Stores a value, replacing what was there.
  func set<K: StorageKey>(_ value: K.Value, for key: K) async throws
  /// The value of a key, or its default while there is none.
  /// - Throws: `StorageError` with code `notFound` when there is neither.
  func get<K: StorageKey>(_ key: K) async throws -> K.Value
  /// Removes a value. A missing one is no error.
  func remove<K: StorageKey>(_ key: K) async throws
  /// Whether there is a value, whatever the key's default.
  func exists<K: StorageKey>(_ key: K) async throws -> Bool
}
