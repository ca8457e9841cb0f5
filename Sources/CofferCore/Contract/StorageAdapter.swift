public import Foundation

/// A minimal store of four methods, for third-party implementations.
///
/// ```swift
/// actor DictionaryAdapter: StorageAdapter {
///   var values: [Data: Data] = [:]
///   func read(key: String) async throws -> Data? { values[Data(key.utf8)] }
///   func write(key: String, data: Data) async throws { values[Data(key.utf8)] = data }
///   func delete(key: String) async throws { values[Data(key.utf8)] = nil }
///   func exists(key: String) async -> Bool { values[Data(key.utf8)] != nil }
/// }
/// ```
///
/// Throw from `read` if the store cannot be reached; return `nil` only for a key that is proven absent. Test an adapter
/// with `StorageConformance` from `CofferTesting`.
public protocol StorageAdapter: Actor {
  /// Returns the value of `key`, or `nil` if it is proven absent.
  /// - Throws: Any error if it cannot be determined whether there is a value, or if the value cannot be read.
  func read(key: String) async throws -> Data?
  /// Stores a value, replacing any existing one.
  /// - Throws: Any error if the value may not be stored.
  func write(key: String, data: Data) async throws
  /// Removes a value. Does nothing if there is none.
  /// - Throws: Any error if the value may still be stored.
  func delete(key: String) async throws
  /// Returns whether `key` has a value. It cannot throw, so `false` means proven absent and a failure returns `true`.
  func exists(key: String) async -> Bool
}

/// An adapter over an engine. The other APIs of Coffer bypass the adapter and use its engine directly.
public protocol EngineBacked: StorageAdapter {
  /// The engine that the adapter reads from and writes to.
  nonisolated var engine: any StorageEngine { get }
  /// The origin of the commits that this adapter makes.
  nonisolated var origin: StoreOrigin { get }
}

extension EngineBacked {
  public func read(key: String) async throws -> Data? {
    try await engine.entry(KeyName(key))?.requiringPlain(at: engine.description).value
  }

  public func write(key: String, data: Data) async throws {
    try await engine.commit(WriteBatch([.put(KeyName(key), data)]), from: origin)
  }

  public func delete(key: String) async throws {
    try await engine.commit(WriteBatch([.delete(KeyName(key))]), from: origin)
  }

  public func exists(key: String) async -> Bool {
    guard let key = try? KeyName(key) else { return false }  // No store can hold such a key.
    do { return try await engine.contains(key) } catch { return true }
  }
}
