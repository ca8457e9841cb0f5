/// An interface for reading and writing values by their keys, which a router implements and tests can replace.
///
/// ```swift
/// struct Settings {
///   let storage: any StorageProviding
///   func isDark() async throws -> Bool { try await storage.get(.theme) == .dark }
/// }
///
/// let settings = Settings(storage: StorageRouter.inMemory())   // in a test, with `import CofferTesting`
/// ```
///
/// `StorageRouter()` opens the real stores of the user: a test that uses it would change the user's preferences.
public protocol StorageProviding: Sendable {
  /// Stores a value, replacing any existing one.
  /// - Throws: `StorageError`; nothing was written, unless its code is `outcomeUnknown` or `unfinished`.
  func set<K: StorageKey>(_ value: K.Value, for key: K) async throws
  /// Returns the value of a key, or its default while there is none.
  /// - Throws: `StorageError` with code `notFound` when there is neither; any other code if the value cannot be read.
  func get<K: StorageKey>(_ key: K) async throws -> K.Value
  /// Removes a value. Removing a missing value is not an error.
  /// - Throws: `StorageError`; nothing was removed, unless its code is `outcomeUnknown` or `unfinished`.
  func remove<K: StorageKey>(_ key: K) async throws
  /// Returns whether there is a stored value, regardless of the key's default; `false` means proven absent.
  /// - Throws: `StorageError` when it cannot be determined.
  func exists<K: StorageKey>(_ key: K) async throws -> Bool
}
