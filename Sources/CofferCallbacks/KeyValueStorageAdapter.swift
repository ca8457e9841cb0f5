public import Foundation

/// A `StorageAdapter` over an existing callback storage, so that typed values and the other APIs work over it.
///
/// ```swift
/// let adapter = KeyValueStorageAdapter(LegacyStorage()) { ($0 as? LegacyStorage.Failure) == .noSuchValue }
/// let store = TypedStore(engine: AdapterEngine(adapter))
/// try await store.save(Theme.dark, for: "theme")
/// ```
///
/// Values are only as durable as the storage makes them before it calls the completion. The adapter calls the storage
/// on this actor, one call at a time; a call may be made before the completion of the previous one.
///
/// Do not wrap ``EngineKeyValueStorage``: its ``EngineKeyValueStorage/engine`` offers more.
public actor KeyValueStorageAdapter: StorageAdapter {
  private let storage: any KeyValueStorage
  private let isMissing: @Sendable (any Error) -> Bool

  /// Creates an adapter over a callback storage.
  /// - Parameters:
  ///   - storage: the storage of the values. It need not be `Sendable`: the adapter takes ownership and is its only
  ///     caller.
  ///   - isMissing: returns whether an error of the storage means that there is no such value. Return `true` only when
  ///     absence is certain, since the caller may replace an absent value by a default. By default it is
  ///     ``isMissingValue(_:)``.
  public init(
    _ storage: sending any KeyValueStorage,
    isMissing: @escaping @Sendable (_ error: any Error) -> Bool = KeyValueStorageAdapter.isMissingValue
  ) {
    self.storage = storage
    self.isMissing = isMissing
  }

  /// Returns whether an error is a `StorageError` with code `notFound` and a key. Without a key it may mean the store.
  public static func isMissingValue(_ error: any Error) -> Bool {
    guard let error = error as? StorageError else { return false }
    return error.code == .notFound && error.key != nil
  }

  public func read(key: String) async throws -> Data? {
    do { return Data(try await storage.retrieve(for: key)) } catch  where isMissing(error) { return nil }
  }

  public func write(key: String, data: Data) async throws {
    try await storage.store(Bytes(data), for: key)
  }

  public func delete(key: String) async throws {
    do { try await storage.remove(for: key) } catch  where isMissing(error) {}
  }

  public func exists(key: String) async -> Bool {
    guard (try? KeyName(key)) != nil else { return false }  // No store can hold such a key.
    do { return try await read(key: key) != nil } catch { return true }
  }
}
