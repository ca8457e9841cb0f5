public import CofferCore

/// The persistence capability over any storage adapter or engine (document 1).
///
/// ```swift
/// let persistence = AdapterBasedPersistence(adapter: MemoryAdapter())
/// try await persistence.saveBatch([("theme", "dark"), ("language", "de")])
/// ```
///
/// Values are JSON unless you give another codec; `Data` and `String` are stored as they are. All errors are
/// `StorageError`, or `CancellationError` when the task was cancelled.
///
/// The capability's values need not be `Sendable`, so it keeps their bytes in memory and decodes them each time. Use
/// ``store`` for decoded values in memory, atomic updates and observation of the same data.
public actor AdapterBasedPersistence: PersistenceCapability {
  /// The typed store underneath: the same keys and values.
  public nonisolated let store: TypedStore
  private var calls: PersistenceCalls { PersistenceCalls(store) }

  /// Persistence over an adapter.
  ///
  /// Adapters of this package are bypassed: the calls go to the engine behind them, as the adapter's own. With an
  /// adapter that you wrote, a batch is written value by value and nothing is kept in memory, since such an adapter
  /// can neither write several values at once nor tell what others write.
  public init(adapter: any StorageAdapter, codec: any StoreCodec = JSONCodec()) {
    if let adapter = adapter as? any EngineBacked {
      store = TypedStore(engine: adapter.engine, codec: codec, origin: adapter.origin)
    } else {
      store = TypedStore(engine: AdapterEngine(adapter), codec: codec)
    }
  }

  /// Persistence over an engine.
  /// - Parameters:
  ///   - engine: where the bytes are kept.
  ///   - codec: how values other than `Data` and `String` become bytes.
  ///   - origin: the handle that it writes as; a fresh one unless given.
  public init(engine: any StorageEngine, codec: any StoreCodec = JSONCodec(), origin: StoreOrigin = StoreOrigin()) {
    store = TypedStore(engine: engine, codec: codec, origin: origin)
  }

  /// Whether the store can be read and written at this moment.
  public var isAvailable: Bool {
    get async {
      for await availability in store.engine.availability() { return availability.isUsable }
      return false
    }
  }

  /// Does nothing: an engine is open from the start.
  public func activate() async throws {}

  /// Makes earlier writes survive power loss and forgets the values in memory. The engine stays open, since others
  /// may use it; close it yourself.
  public func deactivate() async {
    try? await store.engine.flush()  // It cannot be told here; the engine refuses further writes if it has failed.
    store.dropCache()
  }

  /// Stores a value; it survives power loss where the engine can promise that.
  /// - Throws: `StorageError`; nothing was written, except after `outcomeUnknown` and `unfinished`.
  public func save<T: Codable>(_ value: T, for key: String) async throws {
    try await calls.save(value, for: key)
  }

  /// - Throws: `StorageError`: `decodingFailed` when the stored bytes are not a `T`, in which case they are kept.
  public func load<T: Codable>(_ type: T.Type, for key: String) async throws -> T? {
    try await calls.load(type, for: key)
  }

  public func delete(key: String) async throws {
    try await store.delete(key)
  }

  public func exists(key: String) async -> Bool {
    await calls.exists(key: key)
  }

  /// Stores several values in one commit where the engine has atomic batches, else one by one: then those before the
  /// one that failed are stored.
  public func saveBatch<T: Codable>(_ items: [(key: String, value: T)]) async throws {
    try await calls.saveBatch(items)
  }

  /// The values of several keys in the same order, all of one state of the store where the engine has snapshots.
  public func loadBatch<T: Codable>(_ type: T.Type, keys: [String]) async throws -> [T?] {
    try await calls.loadBatch(type, keys: keys)
  }

  /// Removes several values in one commit where the engine has atomic batches, else one by one.
  public func deleteBatch(keys: [String]) async throws {
    try await calls.deleteBatch(keys: keys)
  }

  /// Does nothing when the versions are equal.
  /// - Throws: `StorageError` with code `unsupported` otherwise, since no step is registered: saying nothing would
  ///   let an app believe that its data has the new form.
  public func migrate(from oldVersion: String, to newVersion: String) async throws {
    try calls.migrate(from: oldVersion, to: newVersion)
  }
}
