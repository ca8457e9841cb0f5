public import Foundation

/// A storage backend in four methods (document 1): what a third party writes.
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
/// Throw from `read` when the backend cannot be reached; return `nil` only for what is proven absent. Run
/// `StorageConformance` from `CofferTesting` over it.
public protocol StorageAdapter: Actor {
  /// The value of `key`, or `nil` when there is none.
  func read(key: String) async throws -> Data?
  /// Stores a value, replacing what was there.
  func write(key: String, data: Data) async throws
  /// Removes a value. A missing one is no error.
  func delete(key: String) async throws
  /// Whether there is a value. It cannot throw, so it says `false` only for what is proven absent.
  func exists(key: String) async -> Bool
}

/// An adapter that is a thin actor over an engine: the doors go to the engine directly.
public protocol EngineBacked: StorageAdapter {
  /// What the adapter reads and writes.
  nonisolated var engine: any StorageEngine { get }
  /// Says which commits are this adapter's own.
  nonisolated var origin: StoreOrigin { get }
}

extension EngineBacked {
  public func read(key: String) async throws -> Data? {
    try await engine.entry(StoreKey(key))?.value
  }

  public func write(key: String, data: Data) async throws {
    try await engine.commit(WriteBatch([.put(StoreKey(key), data)]), from: origin)
  }

  public func delete(key: String) async throws {
    try await engine.commit(WriteBatch([.delete(StoreKey(key))]), from: origin)
  }

  public func exists(key: String) async -> Bool {
    guard let key = try? StoreKey(key) else { return false }  // No store can hold such a key.
    do { return try await engine.contains(key) } catch { return true }
  }
}
