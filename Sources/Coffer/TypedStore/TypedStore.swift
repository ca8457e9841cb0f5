import CofferCore
import CofferSQLite
public import Foundation

/// A store of `Codable` values by key, over any engine.
///
/// ```swift
/// let store = TypedStore(engine: MemoryEngine())
/// try await store.save(Theme.dark, for: "theme")
/// let theme = try await store.load(Theme.self, for: "theme") ?? .system
///
/// for await theme in try store.values(of: "theme", as: Theme.self) {
///   apply(try theme.get() ?? .system)     // the current value first, then the value after each change
/// }
/// ```
///
/// `Data` and `String` are stored as they are; every other type is encoded by the codec. In preferences, a value of a
/// type that `UserDefaults` knows is stored with that type instead: Booleans, numbers, dates, URLs, raw-representable
/// values, and arrays and dictionaries of them. A read has three outcomes: a
/// value, `nil` when the value is proven absent, or a thrown `StorageError`, which implies nothing about what the store
/// holds.
///
/// Decoded values are cached, so that reading one again neither reads nor decodes. Values that any process has changed
/// are dropped before the next read. A saved value is cached as the object that was passed; if encoding loses part of
/// it, save a value that has been through the codec. Engines that do not report the writes of others (`AdapterEngine`)
/// are read each time. Cached values may be returned after the engine was closed.
///
/// Each store has its own ``origin``, by which ``changes(of:)-(KeyName)`` distinguishes own commits from those of
/// others.
public final class TypedStore: Sendable {
  /// The engine that stores the bytes.
  public let engine: any StorageEngine
  /// The origin that marks this store's own commits.
  public let origin: StoreOrigin
  package let coding: ByteCoding
  let cache: DecodedCache?
  package let pending: WriteBuffer?
  let updates = KeyedQueue()
  /// The turns of the transactions that are repeated.
  let repetitions = KeyedQueue()
  /// The turns of the migrations of single keys.
  let migrations = KeyedQueue()
  let reads: SharedReads
  package let damage: DamageHandler
  /// What is rare about the values of keys that no router declares.
  package let traits: ValueTraits

  /// Creates a typed store over an engine.
  /// - Parameters:
  ///   - engine: the engine that stores the bytes.
  ///   - codec: the codec of values other than `Data` and `String`.
  ///   - cache: the limits of the cached decoded values.
  ///   - writePolicy: when saved values are committed: before `save` returns by default.
  ///   - origin: the origin of the store's commits; a new one by default.
  ///   - damagePolicy: the treatment of damaged values; the bytes that it returns are stored as they are.
  ///   - onDamageHandled: called when the policy has replaced a damaged value, or could not.
  public convenience init(
    engine: any StorageEngine, codec: any StoreCodec = JSONCodec(), cache: CachePolicy = CachePolicy(),
    writePolicy: WritePolicy = .through, origin: StoreOrigin = StoreOrigin(), damagePolicy: DamagePolicy<Data> = .fail,
    onDamageHandled: (@Sendable (HandledDamage) -> Void)? = nil
  ) {
    self.init(
      engine: engine, codec: codec, cache: cache, writePolicy: writePolicy, origin: origin, damagePolicy: damagePolicy,
      onDamageHandled: onDamageHandled, schema: nil)
  }

  /// Creates a typed store whose values have versions, and are migrated when they are read.
  ///
  /// A value of an older version is migrated when it is first read, in one commit of its own, by one of all readers and
  /// processes. So is a value of a newer version that the schema has a step back from; others are never overwritten.
  /// As `Data`, a value is read as it is stored.
  /// - Parameters:
  ///   - engine: the engine that stores the bytes.
  ///   - schema: the schemas of the values.
  ///   - codec: the codec of values other than `Data` and `String`.
  ///   - cache: the limits of the cached decoded values.
  ///   - origin: the origin of the store's commits; a new one by default.
  ///   - damagePolicy: the treatment of damaged values; the bytes that it returns are stored as they are.
  ///   - onDamageHandled: called when the policy has replaced a damaged value, or could not.
  /// - Throws: `StorageError` with code `unsupported` if the engine has no attributes, preconditions or snapshots.
  public convenience init(
    engine: any StorageEngine, schema: StoreSchema, codec: any StoreCodec = JSONCodec(),
    cache: CachePolicy = CachePolicy(), origin: StoreOrigin = StoreOrigin(), damagePolicy: DamagePolicy<Data> = .fail,
    onDamageHandled: (@Sendable (HandledDamage) -> Void)? = nil
  ) throws {
    guard
      engine.capabilities.contains([.attributes, .preconditions, .revisions, .atomicBatches, .snapshots])
    else {
      throw StorageError.unsupported(
        "versions of values", advice: "Use one of the built-in engines.", location: engine.description)
    }
    self.init(
      engine: engine, codec: codec, cache: cache, writePolicy: .through, origin: origin, damagePolicy: damagePolicy,
      onDamageHandled: onDamageHandled, schema: schema)
  }

  /// - Parameters:
  ///   - encodesAllTypes: whether the codec also encodes `Data` and `String`.
  package init(
    engine: any StorageEngine, codec: any StoreCodec = JSONCodec(), cache: CachePolicy, writePolicy: WritePolicy,
    origin: StoreOrigin = StoreOrigin(), damagePolicy: DamagePolicy<Data>,
    onDamageHandled: (@Sendable (HandledDamage) -> Void)?, schema: StoreSchema?, encodesAllTypes: Bool = false
  ) {
    self.engine = engine
    self.origin = origin
    traits = schema == nil ? [] : .versioned
    reads = SharedReads(engine)
    damage = DamageHandler(damagePolicy, engine, origin: origin, onHandled: onDamageHandled)
    coding = ByteCoding(codec: codec, engine: engine, schema: schema, encodesAllTypes: encodesAllTypes)
    self.cache = DecodedCache(engine: engine, policy: cache)
    pending = WriteBuffer(engine: engine, cache: self.cache, origin: origin, policy: writePolicy)
  }

  /// The codec of every type except `Data` and `String`.
  public var codec: any StoreCodec { coding.codec }

  /// Stores a value, replacing any existing one.
  ///
  /// ```swift
  /// try await store.save(session, for: "session", expires: .now + 3_600)
  /// ```
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - key: the key of the value.
  ///   - expires: the date from which the value is absent, for every reader at once; `nil` for a value that does not
  ///     expire.
  ///   - durability: the failures that the value survives once the call returns.
  ///   - transaction: the logical change that the write belongs to; a new one by default.
  /// - Throws: `StorageError`; after `encodingFailed` nothing was written, and neither after `unsupported`, for an
  ///   expiry in an engine without attributes. `CancellationError` when the task was cancelled before the write began.
  public func save<T: Encodable & Sendable>(
    _ value: T, for key: KeyName, expires: Date? = nil, durability: StoreDurability = .full,
    transaction: TransactionID? = nil
  ) async throws {
    try await save(CodedValue(store: self, key: key).ready(value, expires: expires), durability, transaction)
  }

  @inline(__always)  // one frame less for each save
  package func save(
    _ value: ReadyValue, _ durability: StoreDurability = .full, _ transaction: TransactionID? = nil
  ) async throws {
    if transaction == nil, try addToPending(value, durability) { return }
    let batch = WriteBatch([value.operation], transaction: transaction, durability: durability)
    try await write(batch, [(value.key, value.box)], value.traits)
  }

  /// Commits a batch and caches the values that it has written; `nil` is a deletion.
  /// - Parameter traits: what is rare about one of the values; by default, what may be rare in this store.
  @discardableResult
  package func commit(
    _ batch: WriteBatch, _ written: [(key: KeyName, box: (any AnyBox)?)], _ traits: ValueTraits? = nil
  ) async throws -> StoreCommit {
    let traits = traits ?? self.traits
    let commit =
      if traits.contains(.versioned), let schema = coding.schema {
        try await commitChecked(batch, by: schema)
      } else {
        try await engine.commit(batch, from: origin)
      }
    cached(commit, written, batch, traits)
    return commit
  }

  /// Caches the values that a batch has written, except those that must be asked for each time.
  package func cached(
    _ commit: StoreCommit, _ written: [(key: KeyName, box: (any AnyBox)?)], _ batch: WriteBatch, _ traits: ValueTraits
  ) {
    guard let cache else { return }
    let isGuarded =
      traits.contains(.guarded)
      || batch.traits.contains(.attributes)
        && batch.operations.contains { if case .put(_, _, let attributes) = $0 { attributes.askUser } else { false } }
    cache.committed(commit, isGuarded ? written.map { ($0.key, nil) } : written, expiries: batch.expiries)
  }

  /// Returns the value of a key, or `nil` when it is proven absent.
  ///
  /// A cached value is returned without reading from the engine.
  ///
  /// - Throws: `StorageError`: `decodingFailed` when the stored bytes are not a `T`, in which case they are kept.
  @inlinable  // the type is known where it is called
  public func load<T: Decodable & Sendable>(_ type: T.Type, for key: KeyName) async throws -> T? {
    let (box, known) = lookUp(key)
    if let value: T = Self.unbox(box) { return value }
    return Self.unbox(try await load(T.self, for: key, notCachedAt: known))
  }

  @usableFromInline
  func load<T: Decodable & Sendable>(
    _ type: T.Type, for key: KeyName, notCachedAt known: StoreRevision?
  ) async throws -> (any AnyObject & Sendable)? {
    try await load(CodedValue<T>(store: self, key: key), notCachedAt: known)
  }

  /// Reads a value, and recovers from an error.
  package func load(_ plan: some ValuePlan, notCachedAt known: StoreRevision? = nil) async throws -> (any AnyBox)? {
    do { return try await read(plan, notCachedAt: known) } catch let error as StorageError {
      return try await recover(from: error, plan)
    }
  }

  /// Recovers from the error of a read, and reads the value again: what the recovery has written.
  package func recover(from error: StorageError, _ plan: some ValuePlan) async throws -> (any AnyBox)? {
    try await recover(from: error) {
      try await read(plan)
    } damaged: {
      try await plan.handle($0)
    }
  }

  /// Returns the box of a key from memory, or else the revision for which the cache was valid.
  @usableFromInline
  package func lookUp(_ key: KeyName) -> (box: (any AnyObject & Sendable)?, known: StoreRevision?) {
    if let pending, let value = pending.value(of: key) { return (value.box, nil) }
    guard let (box, validTo, _) = cache?.lookUp(key) else { return (nil, nil) }
    return (box, validTo)
  }

  /// Reads a value from the cache, or else from the engine.
  /// - Parameter known: the revision for which the cache, where the value is missing, was valid; `nil` to look it up.
  @inline(__always)  // one frame less for each read
  package func read(_ plan: any BoxedPlan, notCachedAt known: StoreRevision? = nil) async throws -> (any AnyBox)? {
    let key = plan.key
    if let pending, let value = pending.value(of: key) {
      if let box = value.box, plan.accepts(box) { return box }
      return try value.encoded.map { try plan.box($0) }
    }
    var revision = known
    if revision == nil, let cache {
      let (box, validTo, _) = cache.lookUp(key)
      if let box, plan.accepts(box) { return box }
      revision = validTo
    }
    guard let entry = try await engine.entry(key) else { return nil }
    return try boxed(entry, plan, readAt: revision ?? .zero)
  }

  /// Decodes an entry that was read at a revision or later, and caches the value.
  func boxed(_ entry: StoreEntry, _ plan: any BoxedPlan, readAt revision: StoreRevision) throws -> any AnyBox {
    let attributes = entry.attributes
    let box = try plan.box(EncodedValue(entry.value, attributes))
    if let cache, !plan.traits.contains(.guarded), !attributes.askUser {
      let expires = attributes.isEmpty ? nil : attributes.expires
      cache.insert(CollectionOfOne((plan.key, box, expires)), readAt: revision)
    }
    return box
  }

  /// Returns the value of a key if it is cached and still current; `nil` does not mean that the value is absent.
  ///
  /// Takes about 0.2 µs, and somewhat more after commits by others, whose changed keys are read from the journal first.
  /// Use it where a user interface must be drawn immediately, and ``load(_:for:)-(_,KeyName)`` if it returns `nil`.
  @inlinable  // the type is known where it is called
  public func cached<T: Sendable>(_ type: T.Type, for key: KeyName) -> T? {
    Self.unbox(lookUp(key).box)
  }

  /// Removes the value of a key. Removing a missing value is not an error.
  /// - Throws: `StorageError`.
  public func delete(
    _ key: KeyName, durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    try await write(WriteBatch([.delete(key)], transaction: transaction, durability: durability), [(key, nil)], traits)
  }

  /// Returns whether there is a value of any type; `false` means proven absent.
  /// - Throws: `StorageError` when it cannot be determined.
  public func exists(_ key: KeyName) async throws -> Bool {
    if let pending, let value = pending.value(of: key) { return value.encoded != nil }
    if cache?.lookUp(key).box != nil { return true }
    return try await engine.contains(key)
  }

  /// Drops all cached values, for example when memory is low. The stored values are not changed.
  public func dropCache() {
    cache?.removeAll()
  }

  /// Returns the value of a box if it is a `T`. A box has exactly the type it was created with, so comparing the types
  /// makes the unchecked cast safe.
  @inlinable
  package static func unbox<T: Sendable>(_ box: (any AnyObject & Sendable)?) -> T? {
    guard let box, type(of: box) == Box<T>.self else { return nil }
    return unsafeDowncast(box, to: Box<T>.self).value
  }
}

extension ValueAttributes {
  /// Whether the user is asked before the value is read, so that it must not be cached.
  var askUser: Bool { !isEmpty && self[.accessControl] != nil }
}
