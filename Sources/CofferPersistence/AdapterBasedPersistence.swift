import Coffer
public import CofferCore
public import Foundation

/// A persistence capability over any storage adapter or engine.
///
/// ```swift
/// let persistence = AdapterBasedPersistence(adapter: MemoryAdapter())
/// try await persistence.saveBatch([("theme", "dark"), ("language", "de")])
/// ```
///
/// Values are stored as JSON unless another codec is given. `Data` and `String` are stored as they are, except over a
/// custom adapter, whose values are all JSON. All errors are `StorageError`, or `CancellationError` when the task was
/// cancelled.
///
/// The values need not be `Sendable`, so their bytes are cached and decoded on each load. Use ``store`` for cached
/// decoded values, batches of several types, conditional writes, atomic updates and observation of the same data.
public actor AdapterBasedPersistence: PersistenceCapability {
  /// The underlying typed store, with the same keys and values.
  public nonisolated let store: TypedStore
  private var calls: PersistenceCalls { PersistenceCalls(store) }

  /// Creates persistence over an adapter.
  ///
  /// Adapters of this package are bypassed: calls go to the engine behind them, with the adapter's origin. With a
  /// custom adapter, a batch is written value by value and nothing is cached, since such an adapter can neither write
  /// several values in one commit nor report what others write. The codec then encodes `Data` and `String` as well, so
  /// that the adapter's earlier values can be read whose text is JSON.
  public init(adapter: any StorageAdapter, codec: any StoreCodec = JSONCodec()) {
    if let adapter = adapter as? any EngineBacked {
      store = TypedStore(engine: adapter.engine, codec: codec, origin: adapter.origin)
    } else {
      store = TypedStore(
        engine: AdapterEngine(adapter), codec: codec, cache: CachePolicy(maximumCount: 0), writePolicy: .through,
        damagePolicy: .fail, onDamageHandled: nil, schema: nil, encodesAllTypes: true)
    }
  }

  /// Creates persistence over an engine.
  /// - Parameters:
  ///   - engine: the engine that stores the bytes.
  ///   - codec: the codec of values other than `Data` and `String`.
  ///   - cache: the limits of the cached values.
  ///   - writePolicy: when saved values are committed; see `WritePolicy`.
  ///   - origin: the origin of the commits; a new one by default.
  public init(
    engine: any StorageEngine, codec: any StoreCodec = JSONCodec(), cache: CachePolicy = CachePolicy(),
    writePolicy: WritePolicy = .through, origin: StoreOrigin = StoreOrigin()
  ) {
    store = TypedStore(engine: engine, codec: codec, cache: cache, writePolicy: writePolicy, origin: origin)
  }

  /// Creates persistence over an engine, whose values have versions and are migrated when they are read.
  /// - Parameters:
  ///   - engine: the engine that stores the bytes.
  ///   - schema: the schemas of the values, with the steps of their migrations.
  ///   - codec: the codec of values other than `Data` and `String`.
  ///   - origin: the origin of the commits; a new one by default.
  /// - Throws: `StorageError` with code `unsupported` if the engine has no attributes, preconditions or snapshots.
  public init(
    engine: any StorageEngine, schema: StoreSchema, codec: any StoreCodec = JSONCodec(),
    origin: StoreOrigin = StoreOrigin()
  ) throws {
    store = try TypedStore(engine: engine, schema: schema, codec: codec, origin: origin)
  }

  /// Does nothing, since the engine is open from the start.
  public func activate() async throws {}

  /// Makes earlier writes survive power loss and drops the cached values. The engine stays open, since it may be
  /// shared; close it separately.
  /// - Throws: `StorageError`: writes are not committed, in which case they are still pending, or may not survive power
  ///   loss. The cached values are dropped nevertheless.
  public func deactivate() async throws {
    defer { store.dropCache() }
    try await store.flush()
    // Closing an engine has made its commits survive power loss.
    do { try await store.engine.flush() } catch let error as StorageError where error.code == .closed {}
  }

  /// Stores a value, replacing any existing one. It survives power loss where the engine can promise that.
  /// - Throws: `StorageError`; nothing was written, unless its code is `outcomeUnknown` or `unfinished`.
  public func save<T: Codable>(_ value: T, for key: String) async throws {
    try await calls.save(value, for: key)
  }

  /// Returns the value of a key, or `nil` when it is proven absent.
  /// - Throws: `StorageError`: `decodingFailed` when the stored bytes are not a `T`, in which case they are kept.
  public func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? {
    try await calls.load(type, for: key)
  }

  public func load(key: String) async throws -> Data? {
    try await calls.load(key: key)
  }

  public func delete(key: String) async throws {
    try await store.delete(key)
  }

  public func exists(key: String) async -> Bool {
    await calls.exists(key: key)
  }

  /// Stores several values in one commit where the engine has atomic batches. Otherwise stores them one by one, and the
  /// values before the one that failed are stored.
  /// - Throws: `StorageError`; after `encodingFailed` nothing was written.
  public func saveBatch<T: Codable>(_ items: [(key: String, value: T)]) async throws {
    try await calls.saveBatch(items)
  }

  /// Returns the values of several keys in the same order, read from one snapshot where the engine has snapshots.
  /// - Throws: `StorageError`: `decodingFailed` when the bytes of one of them are not a `T`.
  public func loadBatch<T: Codable>(_ type: T.Type, keys: [String]) async throws -> [T?] {
    try await calls.loadBatch(type, keys: keys)
  }

  /// Removes several values in one commit where the engine has atomic batches, otherwise one by one.
  /// - Throws: `StorageError`.
  public func deleteBatch(keys: [String]) async throws {
    try await calls.deleteBatch(keys: keys)
  }

  /// Brings all values to the present versions of their schemas. Does nothing when the versions are equal.
  ///
  /// Each value has its own version, so the versions of the application only decide whether there is anything to do. A
  /// call that was interrupted is resumed by the next one. Without this call, each value is migrated when it is read.
  /// - Parameters:
  ///   - oldVersion: the version of the application that has written the values, such as `1.2`.
  ///   - newVersion: the version that runs.
  /// - Throws: `StorageError`: `unsupported` without a schema; the errors of `TypedStore.migrate`.
  public func migrate(from oldVersion: String, to newVersion: String) async throws {
    try await calls.migrate(from: oldVersion, to: newVersion)
  }
}
