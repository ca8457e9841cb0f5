public import Foundation

/// Somebody's callback storage as a `StorageAdapter`, so that typed values and the other doors work over it.
///
/// ```swift
/// let adapter = KeyValueStorageAdapter(LegacyStorage()) { ($0 as? LegacyStorage.Failure) == .noSuchValue }
/// let store = TypedStore(engine: AdapterEngine(adapter))
/// try await store.save(Theme.dark, for: "theme")
/// ```
///
/// Values over one adapter are only as durable as the storage makes them before it calls the completion. Calls are made
/// on this actor, one at a time, and the next may come before the completion of the last.
///
/// Not for ``EngineKeyValueStorage``: use its engine directly, which can do more.
public actor KeyValueStorageAdapter: StorageAdapter {
  private let storage: any KeyValueStorage
  private let isMissing: @Sendable (any Error) -> Bool

  /// - Parameters:
  ///   - storage: where the values are. It need not be `Sendable`: it is handed over, so that nobody else calls it.
  ///   - isMissing: whether an error of the storage says that there is no such value. Answer yes only where that is
  ///     proven: what is absent may be replaced by a default. Unless given, it knows `StorageError` with code
  ///     `notFound` and a key, and takes every other error for one.
  public init(
    _ storage: sending any KeyValueStorage,
    isMissing: @escaping @Sendable (_ error: any Error) -> Bool = KeyValueStorageAdapter.saysMissing
  ) {
    self.storage = storage
    self.isMissing = isMissing
  }

  /// Whether an error is a `StorageError` with code `notFound` that names a key: without one it may speak of the store.
  public static func saysMissing(_ error: any Error) -> Bool {
    guard let error = error as? StorageError else { return false }
    return error.code == .notFound && error.key != nil
  }

  public func read(key: String) async throws -> Data? {
    do { return Data(try await storage.value(for: key)) } catch  where isMissing(error) { return nil }
  }

  public func write(key: String, data: Data) async throws {
    try await storage.store(Bytes(data), for: key)
  }

  public func delete(key: String) async throws {
    do { try await storage.remove(for: key) } catch  where isMissing(error) {}
  }

  public func exists(key: String) async -> Bool {
    guard (try? StoreKey(key)) != nil else { return false }  // No store can hold such a key.
    do { return try await read(key: key) != nil } catch { return true }
  }
}
