import Coffer
public import Foundation

/// A router that reads and writes declared keys in their stores, and enforces their declarations.
///
/// ```swift
/// try await StorageRouter.shared.registerCatalog(SettingsCatalog())
/// try await StorageRouter.shared.set(.dark, for: .theme)
/// let theme = try await StorageRouter.shared.get(.theme)
/// ```
///
/// A read has three outcomes:
/// - the value, or the key's default, which is never written;
/// - the error `notFound`, when the value is proven absent and has no default;
/// - another `StorageError`, which implies nothing about what is stored.
///
/// A default is never returned for a store that is locked or unavailable.
///
/// Once a catalog is registered, keys without a catalog are refused, unless `StorageConfiguration.unregisteredKeys`
/// allows them. Reads and writes run concurrently: the actor serializes only registration and sync.
public actor StorageRouter: StorageProviding {
  /// The shared router, with the default settings.
  public static let shared = StorageRouter()

  /// The settings of the router.
  public nonisolated let configuration: StorageConfiguration
  nonisolated let registry: KeyRegistry
  nonisolated let openStores: OpenStores
  /// The running migrations of keys.
  nonisolated let migrations = MigrationRuns()
  /// What migrations have left of plain values.
  nonisolated let remains = MigrationRemains()
  let sync: SyncHelper
  /// Sends automatic keys after changes; `nil` without a transport.
  nonisolated let follower: SyncFollower?
  /// What was last requested of each manual key, and the number of that request.
  var requested: [KeyName: SyncSnapshot] = [:]
  var latestRequest = 0
  var requests = 0
  /// The number of changes of sync policies by this router, to detect a change during a load.
  var policyVersion = 0

  /// Creates a router. Tests create one with stores in memory or in a temporary directory.
  public init(configuration: StorageConfiguration = StorageConfiguration()) {
    self.configuration = configuration
    registry = KeyRegistry(configuration)
    let sync = SyncHelper(transport: configuration.sync.transport)
    let follower = configuration.sync.transport.map { _ in SyncFollower(sync, onFailure: configuration.sync.onFailure) }
    openStores = OpenStores(configuration, registry) { follower?.changed() }
    (self.sync, self.follower) = (sync, follower)
    follower?.attach(self)
  }

  deinit {
    follower?.end()
    registry.forgetStores()
  }

  /// A key with its record and its open store.
  @usableFromInline
  final class ResolvedKey: BoxedPlan {
    let record: KeyRegistry.Record
    let store: TypedStore
    /// The declaration object that has been compared with the record.
    let declaration: (any AnyObject & Sendable)?
    /// The key of the value: that of the record, or of a member of the record's family.
    let key: KeyName
    /// What is rare about the value.
    let traits: ValueTraits
    let coder: any BoxCoder

    init(
      _ record: KeyRegistry.Record, _ store: TypedStore, of declared: some StorageKey,
      declaration: (any AnyObject & Sendable)? = nil
    ) {
      self.record = record
      self.store = store
      self.declaration = declaration
      key = record.key
      coder = DeclaredCoder(declared)
      // A secret is committed at once: what the caller was told is stored, such as a token that replaces a used one,
      // must survive a killed process.
      traits = [
        record.schema == nil ? [] : .versioned, record.descriptor.accessControl == nil ? [] : .guarded,
        record.descriptor.isSensitive ? .immediate : [],
      ]
    }

    private init(_ family: ResolvedKey, _ key: KeyName) {
      (record, store, traits, coder) = (family.record, family.store, family.traits, family.coder)
      (self.key, declaration) = (key, nil)
    }

    /// Returns the resolved key of a member if `key` is given.
    func member(_ key: KeyName?) -> ResolvedKey { key.map { ResolvedKey(self, $0) } ?? self }

    var boxType: ObjectIdentifier { coder.boxType }

    func box(_ encoded: EncodedValue) throws -> any AnyBox { try coder.box(encoded, of: self) }

    /// Returns the attributes of a value that is stored now.
    /// - Parameter expires: the date from which the value is absent; by default, the end of the key's lifetime.
    func attributes(expires: Date? = nil) -> ValueAttributes {
      let lifetime = record.descriptor.lifetime
      guard expires != nil || lifetime != nil || traits.contains(.versioned) else { return record.attributes }
      var attributes = (record.schema?.mark ?? .none).merging(record.attributes)
      attributes.expires = expires ?? lifetime.map { store.engine.clock.now() + $0.inSeconds }
      return attributes
    }
  }

  nonisolated func resolve<K: StorageKey>(_ key: K) async throws -> ResolvedKey {
    if let resolved = registry.resolved(of: key.declaration) { return resolved }
    let member = try key.family?.key(named: key.name)
    return try await resolve(declaration: key).member(member)
  }

  /// Resolves the declaration of a key: the key itself, or its family.
  nonisolated func resolve<K: StorageKey>(declaration key: K) async throws -> ResolvedKey {
    let declaration = key.declaration ?? key.family
    if let resolved = registry.resolved(of: declaration) { return resolved }
    let (record, known) = try registry.find(key)
    if let known, known.declaration != nil || declaration == nil { return known }
    try record.checkLocation(configuration)
    let store = if let known { known.store } else { try await openStores.store(of: record) }
    let resolved = ResolvedKey(record, store, of: key, declaration: declaration)
    try resolved.checkVersions()
    // Only a migrated key is kept, since `cached(_:)` and submissions use what is.
    if known == nil, record.descriptor.hasMigration, try await !settle(key, resolved) { return resolved }
    registry.keep(resolved)
    // What the key has is not sent while its migration is pending.
    if known == nil, record.descriptor.hasMigration { follower?.changed() }
    return resolved
  }

  // MARK: Values

  /// Stores a value, replacing any existing one.
  /// - Throws: `StorageError`; nothing was written, unless its code is `outcomeUnknown` or `unfinished`.
  public nonisolated func set<K: StorageKey>(_ value: K.Value, for key: K) async throws {
    try await set(value, for: key, durability: .full)
  }

  /// Stores a value with an expiry, a durability or a transaction, replacing any existing one.
  /// - Parameters:
  ///   - value: the value.
  ///   - key: the key of the value.
  ///   - expires: the date from which the value is absent, for every reader at once; by default, the end of the key's
  ///     ``StorageKey/lifetime``, if it has one.
  ///   - durability: the failures that the value survives once the call returns.
  ///   - transaction: the logical change that the write belongs to; a new one by default.
  /// - Throws: `StorageError`; nothing was written, unless its code is `outcomeUnknown` or `unfinished`.
  @inline(__always)  // one frame less for a set without options
  public nonisolated func set<K: StorageKey>(
    _ value: K.Value, for key: K, expires: Date? = nil, durability: StoreDurability = .full,
    transaction: TransactionID? = nil
  ) async throws {
    let resolved = if let known = known(key.declaration) { known } else { try await resolve(key) }
    try await resolved.store.save(ready(value, for: key, resolved, expires: expires), durability, transaction)
  }

  /// Returns the value of a key, or its default while there is none.
  /// - Throws: `StorageError`: `notFound` when there is neither; `decodingFailed` when the stored bytes are not a value
  ///   of the key's type, in which case they are kept.
  @inlinable  // specialized where it is called; `final` lets the compiler call a method of an actor directly
  public final nonisolated func get<K: StorageKey>(_ key: K) async throws -> K.Value {
    guard let resolved = known(key.declaration) else { return try await resolveAndGet(key) }
    let (box, revision) = lookUp(resolved)
    if let value: K.Value = TypedStore.unbox(box) { return value }
    let read = try await load(key, resolved, notCachedAt: revision)
    if let value: K.Value = TypedStore.unbox(read) ?? key.defaultValue { return value }
    throw StorageError.absent(resolved)
  }

  @usableFromInline
  nonisolated func lookUp(_ resolved: ResolvedKey) -> (box: (any AnyObject & Sendable)?, known: StoreRevision?) {
    resolved.store.lookUp(resolved.key)
  }

  @usableFromInline
  nonisolated func load<K: StorageKey>(
    _ key: K, _ resolved: ResolvedKey, notCachedAt revision: StoreRevision?
  ) async throws -> (any AnyObject & Sendable)? {
    do { return try await resolved.store.read(resolved, notCachedAt: revision) } catch let error as StorageError {
      return try await load(key, resolved, after: error)
    }
  }

  /// - Parameter error: the error of a read; `nil` if the value was not read before.
  @inline(never)  // A read that succeeds without it needs no room for it.
  private nonisolated func load<K: StorageKey>(
    _ key: K, _ resolved: ResolvedKey, after error: StorageError? = nil
  ) async throws -> (any AnyBox)? {
    let plan = DeclaredValue(self, key, resolved)
    guard let error else { return try await plan.store.load(plan) }
    return try await plan.store.recover(from: error, plan)
  }

  @usableFromInline
  nonisolated func resolveAndGet<K: StorageKey>(_ key: K) async throws -> K.Value {
    let resolved = try await resolve(key)
    if let value: K.Value = TypedStore.unbox(try await load(key, resolved)) ?? key.defaultValue { return value }
    throw StorageError.absent(resolved)
  }

  /// Returns the stored value of a key, or `nil` when it is proven absent, regardless of its default.
  nonisolated func stored<K: StorageKey>(_ key: K) async throws -> K.Value? {
    TypedStore.unbox(try await load(key, try await resolve(key)))
  }

  /// Returns the value of a key if it is cached and still current; `nil` does not mean that the value is absent. Takes
  /// well below a microsecond.
  @inlinable  // specialized where it is called; `final` lets the compiler call a method of an actor directly
  public final nonisolated func cached<K: StorageKey>(_ key: K) -> K.Value? {
    guard let resolved = known(key.declaration) ?? known(key, ObjectIdentifier(K.Value.self)) else {
      return nil
    }
    return TypedStore.unbox(lookUp(resolved).box)
  }

  @usableFromInline
  nonisolated func known(_ declaration: (any AnyObject & Sendable)?) -> ResolvedKey? {
    registry.resolved(of: declaration)
  }

  @usableFromInline
  nonisolated func known(_ key: some StorageKey, _ type: ObjectIdentifier) -> ResolvedKey? {
    guard let family = key.family else { return registry.known(key.name, type, key.domain, isFamily: false) }
    guard
      let resolved = registry.resolved(of: family)
        ?? registry.known(family.prefix, type, key.domain, isFamily: true)
    else { return nil }
    return (try? family.key(named: key.name)).map { resolved.member($0) }
  }

  /// Removes a value. Removing a missing value is not an error.
  /// - Throws: `StorageError`.
  public nonisolated func remove<K: StorageKey>(_ key: K) async throws {
    let resolved = try await resolve(key)
    try await resolved.store.write(WriteBatch([.delete(resolved.key)]), [(resolved.key, nil)], resolved.traits)
  }

  /// Returns whether there is a stored value, regardless of the key's default; `false` means proven absent.
  /// - Throws: `StorageError` when it cannot be determined.
  public nonisolated func exists<K: StorageKey>(_ key: K) async throws -> Bool {
    let resolved = try await resolve(key)
    return try await resolved.store.exists(resolved.key)
  }

  /// Returns the stored bytes of a key, whether or not they can be decoded, or `nil` when the value is proven absent.
  /// - Throws: `StorageError` when they cannot be read.
  public nonisolated func bytes<K: StorageKey>(of key: K) async throws -> Data? {
    let resolved = try await resolve(key)
    let engine = try await resolved.flushedEngine(for: resolved.key)
    return try await engine.entry(resolved.key)?.requiringPlain(at: engine.description).value
  }

  /// Atomically modifies a value, starting from the key's default when there is none. No concurrent change is lost.
  ///
  /// ```swift
  /// try await router.update(.recentSearches) { $0.insert("mugs", at: 0) }
  /// ```
  /// - Parameters:
  ///   - key: the key of the value.
  ///   - transform: modifies the value. It runs again when another writer commits first, so it must have no side
  ///     effects.
  /// - Returns: The value that was stored.
  /// - Throws: `notFound` when there is neither value nor default, any error of `transform`, and `StorageError`.
  @discardableResult
  public nonisolated func update<K: StorageKey>(
    _ key: K, _ transform: @Sendable (inout K.Value) throws -> Void
  ) async throws -> K.Value {
    let plan = try await plan(key)
    let stored = try await plan.store.update(plan, .full, nil) { old in
      guard var value = old ?? key.defaultValue else { throw StorageError.absent(plan.resolved) }
      try transform(&value)
      return value
    }
    guard let stored else { throw StorageError.absent(plan.resolved) }
    return stored
  }

  // MARK: Changes

  /// Returns the changes of one key from now on, by any writer. Each call returns a new stream, which is subscribed
  /// when the call returns.
  /// - Throws: `StorageError` when the key's store cannot be opened.
  public nonisolated func changes<K: StorageKey>(of key: K) async throws -> AsyncStream<KeyChange> {
    let resolved = try await resolve(key)
    return resolved.store.changes(of: resolved.key)
  }

  // MARK: Ending

  /// Commits pending writes, closes the stores that the router has opened, and sends nothing more to other devices.
  ///
  /// Call ``waitForSync(within:)`` before to send the latest changes. Engines of the configuration stay open. Later
  /// calls for keys of the closed stores throw `closed`. If migrations have moved plain values to protected keys, it
  /// first frees the files of the older stores of them, which takes time proportional to the size of these stores.
  /// - Throws: The error of the last store that could not be closed; the others are closed. If writes are still
  ///   pending, its engine stays open, and another call tries again.
  public nonisolated func close() async throws {
    follower?.end()
    await remains.close()
    defer {
      registry.forgetStores { record in
        guard case .located(let location) = record.location else { return true }
        return configuration.engine(at: location) == nil
      }
    }
    try await openStores.close()
  }

  // MARK: Sync

  /// Refuses a value that is too large for automatic sync, before anything is written.
  nonisolated func checkSize(_ size: Int, _ record: KeyRegistry.Record, _ key: KeyName? = nil) throws {
    guard follower != nil else { return }
    let limit = configuration.sync.maximumAutomaticSize
    guard size > limit, record.catalog != nil,
      registry.syncPolicy(record) == .automaticSmall
    else { return }
    throw StorageError(
      .dataTooLargeForSync, "The value has \(size) bytes; the limit for automatic sync is \(limit).",
      advice: "Make it smaller, or set the key's sync policy to manual or never. Nothing was written.",
      key: key ?? record.key)
  }
}

extension StorageError {
  @usableFromInline
  static func absent(_ resolved: StorageRouter.ResolvedKey) -> StorageError {
    StorageError(
      .notFound, "There is no value, and the key has no default.", advice: "Store one, or give the key a default.",
      location: resolved.store.engine.description, key: resolved.key)
  }
}

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
