public import Foundation

/// The one place that an application's values go through (document 4): it knows the keys, opens their homes and does as
/// the keys say.
///
/// ```swift
/// try await StorageRouter.shared.registerCatalog(SettingsCatalog())
/// try await StorageRouter.shared.set(.dark, for: .theme)
/// let theme = try await StorageRouter.shared.get(.theme)
/// ```
///
/// A read has three answers: the value (or the key's default, which is never written), the error `notFound` for what is
/// proven absent and has no default, or another `StorageError`, which says nothing about what is stored. A default is
/// never given for a home that is locked or away.
///
/// Once a catalog is registered, a key that none has is refused; `StorageConfiguration.unregisteredKeys` says how.
/// Reading and writing take no turns: the actor serialises only registration and sync.
public actor StorageRouter: StorageProviding {
  /// The router of the application, with the usual settings.
  public static let shared = StorageRouter()

  /// What it knows of its application.
  public nonisolated let configuration: StorageConfiguration
  nonisolated let registry: KeyRegistry
  nonisolated let homes: StorageHomes
  let sync: SyncHelper
  /// How often a sync policy was changed here.
  var policyVersion = 0

  /// A router. Tests make their own, with homes in a directory of their own or in memory.
  public init(configuration: StorageConfiguration = StorageConfiguration()) {
    self.configuration = configuration
    registry = KeyRegistry(configuration)
    homes = StorageHomes(configuration)
    sync = SyncHelper(transport: configuration.sync.transport)
  }

  /// A key with its store, opened now if it was not.
  @usableFromInline
  final class Place: Sendable {
    let record: KeyRegistry.Record
    let store: TypedStore
    /// The declaration that agrees with the record for certain.
    let declaration: (any AnyObject & Sendable)?
    var key: StoreKey { record.key }
    var attributes: ValueAttributes { record.attributes }

    init(_ record: KeyRegistry.Record, _ store: TypedStore, declaration: (any AnyObject & Sendable)?) {
      self.record = record
      self.store = store
      self.declaration = declaration
    }
  }

  nonisolated func place<K: StorageKey>(of key: K) async throws -> Place {
    if let place = registry.place(of: key.declaration) { return place }
    let declaration = key.declaration
    let (record, known) = try registry.find(key)
    if let known, known.declaration != nil || declaration == nil { return known }
    let store =
      if let known { known.store } else { try await homes.store(at: DomainHome(key.domain, configuration)) }
    let place = Place(record, store, declaration: declaration)
    registry.keep(place)
    return place
  }

  // MARK: Values

  /// Stores a value, replacing what was there.
  /// - Throws: `StorageError`; nothing was written then, except after `outcomeUnknown` and `unfinished`.
  public nonisolated func set<K: StorageKey>(_ value: K.Value, for key: K) async throws {
    try await set(value, for: key, durability: .full)
  }

  /// Stores a value, replacing what was there.
  /// - Parameters:
  ///   - value: the value.
  ///   - key: its key.
  ///   - durability: what the value has survived when this returns.
  ///   - transaction: the logical change that the write belongs to; a fresh one unless given.
  /// - Throws: `StorageError`; nothing was written then, except after `outcomeUnknown` and `unfinished`.
  public nonisolated func set<K: StorageKey>(
    _ value: K.Value, for key: K, durability: StoreDurability, transaction: TransactionID? = nil
  ) async throws {
    let place = try await place(of: key)
    let data = try key.serializer.bytes(of: value, place)
    try checkSize(data.count, place.record)
    let batch = WriteBatch([.put(place.key, data, place.attributes)], transaction: transaction, durability: durability)
    try await place.store.commit(batch, [(place.key, Box(value))])
    await wrote([place.record])
  }

  /// The value of a key, or its default while there is none.
  /// - Throws: `StorageError`: `notFound` when there is neither; `decodingFailed` when the stored bytes are not such a
  ///   value, in which case they are kept.
  public nonisolated func get<K: StorageKey>(_ key: K) async throws -> K.Value {
    let place = try await place(of: key)
    if let value = try await stored(key, place) ?? key.defaultValue { return value }
    throw StorageError.absent(place)
  }

  /// The value of a key without its default; `nil` when it is proven absent.
  nonisolated func stored<K: StorageKey>(_ key: K) async throws -> K.Value? { try await stored(key, place(of: key)) }

  private nonisolated func stored<K: StorageKey>(_ key: K, _ place: Place) async throws -> K.Value? {
    let serializer = key.serializer
    return try await place.store.load(place.key) { try serializer.value(from: $0, place) }
  }

  /// The value of a key if it is in memory and still what its home holds; `nil` says nothing. Well below a microsecond.
  @inlinable  // the types are known where it is called; `final` says that to the compiler of an actor, too
  public final nonisolated func cached<K: StorageKey>(_ key: K) -> K.Value? {
    guard let place = known(key.declaration) ?? known(key.name, ObjectIdentifier(K.Value.self), key.domain) else {
      return nil
    }
    return TypedStore.unbox(cachedBox(place))
  }

  @usableFromInline
  nonisolated func known(_ declaration: (any AnyObject & Sendable)?) -> Place? { registry.place(of: declaration) }

  @usableFromInline
  nonisolated func known(_ name: String, _ type: ObjectIdentifier, _ domain: StorageDomain) -> Place? {
    registry.known(name, type, domain)
  }

  @usableFromInline
  nonisolated func cachedBox(_ place: Place) -> (any AnyObject & Sendable)? { place.store.cachedBox(place.record.key) }

  /// Removes a value. A missing one is no error.
  /// - Throws: `StorageError`.
  public nonisolated func remove<K: StorageKey>(_ key: K) async throws {
    let place = try await place(of: key)
    try await place.store.delete(place.key)
    await wrote([place.record])
  }

  /// Whether there is a value, whatever the key's default.
  /// - Throws: `StorageError` when nobody can tell.
  public nonisolated func exists<K: StorageKey>(_ key: K) async throws -> Bool {
    let place = try await place(of: key)
    return try await place.store.exists(place.key)
  }

  /// The stored bytes of a key as they are, whether or not they are still a value of its type; `nil` when it is proven
  /// absent.
  /// - Throws: `StorageError` when nobody can tell.
  public nonisolated func bytes<K: StorageKey>(of key: K) async throws -> Data? {
    let place = try await place(of: key)
    return try await place.store.engine.entry(place.key)?.value
  }

  /// Changes a value in place, starting from the key's default when there is none, so that no change by anybody else is
  /// lost.
  ///
  /// ```swift
  /// try await router.update(.recentSearches) { $0.insert("mugs", at: 0) }
  /// ```
  /// - Parameters:
  ///   - key: the key.
  ///   - transform: changes the value. It runs again when somebody else was first: let it do nothing but compute.
  /// - Returns: The value that was stored.
  /// - Throws: `notFound` when there is neither value nor default, what `transform` throws, and `StorageError`.
  @discardableResult
  public nonisolated func update<K: StorageKey>(
    _ key: K, _ transform: @Sendable (inout K.Value) throws -> Void
  ) async throws -> K.Value {
    let place = try await place(of: key)
    let serializer = key.serializer
    let stored = try await place.store.update(
      place.key, durability: .full, transaction: nil, attributes: place.attributes,
      decode: { try serializer.value(from: $0, place) },
      encode: { value in
        let data = try serializer.bytes(of: value, place)
        try checkSize(data.count, place.record)
        return data
      },
      transform: { (old: K.Value?) -> K.Value? in
        guard var value = old ?? key.defaultValue else { throw StorageError.absent(place) }
        try transform(&value)
        return value
      })
    guard let stored else { throw StorageError.absent(place) }
    await wrote([place.record])
    return stored
  }

  // MARK: Changes

  /// The changes of one key from now on, by anybody. Every caller gets a stream of its own, open when this returns.
  /// - Throws: `StorageError` when the key's home cannot be opened.
  public nonisolated func changes<K: StorageKey>(of key: K) async throws -> AsyncStream<KeyChange> {
    let place = try await place(of: key)
    return place.store.changes(of: place.key)
  }

  /// The present value, then the value after each change by anybody; the key's default, or `nil`, while there is none.
  ///
  /// A slow consumer may skip intermediate values but always receives the latest one.
  /// - Throws: `StorageError` when the key's home cannot be opened; the stream throws when a value cannot be read.
  public nonisolated func values<K: StorageKey>(of key: K) async throws -> AsyncThrowingStream<K.Value?, any Error> {
    let (values, defaultValue) = (try await storedValues(of: key), key.defaultValue)
    return AsyncThrowingStream {
      for try await value in values { return .some(value ?? defaultValue) }
      return nil
    }
  }

  /// The same without the key's default.
  nonisolated func storedValues<K: StorageKey>(of key: K) async throws -> AsyncThrowingStream<K.Value?, any Error> {
    let (place, serializer) = (try await place(of: key), key.serializer)
    return place.store.values(of: place.key) { try serializer.value(from: $0, place) }
  }

  // MARK: Ending

  /// Ends the use of the router: closes the homes that it has opened. Engines of the configuration stay open.
  public nonisolated func close() async throws { try await homes.close() }

  // MARK: Sync

  /// What a write of synced keys still has to do. The values are stored: that they cannot be sent now is no failure of
  /// the write, and the next one sends them, too.
  nonisolated func wrote(_ records: [KeyRegistry.Record]) async {
    guard configuration.sync.transport != nil,
      records.contains(where: { $0.catalog != nil && registry.syncPolicy($0) == .automaticSmall })
    else { return }
    do { try await syncRegisteredKeysIfNeeded() } catch { configuration.sync.onFailure?(error) }
  }

  /// Before anything is written: a value that would never arrive is no surprise then.
  nonisolated func checkSize(_ size: Int, _ record: KeyRegistry.Record) throws {
    let limit = configuration.sync.maximumAutomaticSize
    guard size > limit, configuration.sync.transport != nil, record.catalog != nil,
      registry.syncPolicy(record) == .automaticSmall
    else { return }
    throw StorageError(
      .dataTooLargeForSync, "The value has \(size) bytes; keys that are synced by themselves take \(limit).",
      advice: "Make it smaller, or set the key's sync policy to manual or never. Nothing was written.",
      key: record.key)
  }
}

extension StorageError {
  static func absent(_ place: StorageRouter.Place) -> StorageError {
    StorageError(
      .notFound, "There is no value, and the key has no default.", advice: "Set it, or give the key a default.",
      backend: place.store.engine.description, key: place.key)
  }
}

extension Serializer {
  func bytes(of value: Value, _ place: StorageRouter.Place) throws -> Data {
    do { return try encode(value) } catch {
      throw ByteCoding.encodingFailed(Value.self, error, backend: place.store.engine.description, key: place.key)
    }
  }

  func value(from data: Data, _ place: StorageRouter.Place) throws -> Value {
    do { return try decode(data) } catch {
      throw ByteCoding.decodingFailed(
        Value.self, error, backend: place.store.engine.description, key: place.key,
        advice: "They are kept; bytes(of:) reads them as they are.")
    }
  }
}
