import CofferSQLite
public import Foundation

/// Values of your own types by key, over any engine.
///
/// ```swift
/// let store = TypedStore(engine: MemoryEngine())
/// try await store.save(Theme.dark, for: "theme")
/// let theme = try await store.load(Theme.self, for: "theme") ?? .system
///
/// for try await theme in try store.values(of: "theme", as: Theme.self) {
///   apply(theme ?? .system)               // the present value first, then after each change by anybody
/// }
/// ```
///
/// `Data` and `String` are stored as they are; every other type goes through the codec. A read has three answers:
/// a value, `nil` for what is proven absent, or a thrown `StorageError`, which says nothing about what the store
/// holds.
///
/// Decoded values are kept in memory, so that reading one again neither reads nor decodes. The store drops what
/// anybody has changed, in this process or another, before it answers. A value that was saved is kept as the object
/// that was given; if encoding loses something of it, save a value that has gone through the codec. Engines that
/// cannot tell what others write (`AdapterEngine`) are read each time. What is in memory may still be answered after
/// the engine was closed.
///
/// Each store has an ``origin`` of its own, by which ``changes(of:)-(StoreKey)`` tells own writes from those of others.
public final class TypedStore: Sendable {
  /// The engine that keeps the bytes.
  public let engine: any StorageEngine
  /// Says which commits are this store's own.
  public let origin: StoreOrigin
  let coding: ByteCoding
  let cache: DecodedCache?
  let updates = KeyedQueue()
  let reads: SharedReads

  /// - Parameters:
  ///   - engine: where the bytes are kept.
  ///   - codec: how values other than `Data` and `String` become bytes.
  ///   - cacheCapacity: how many decoded values are kept in memory at most; 0 keeps none. The half of them that were
  ///     used last are certain to be there.
  ///   - origin: the handle that this store writes as; a fresh one unless given.
  public init(
    engine: any StorageEngine, codec: any StoreCodec = JSONCodec(), cacheCapacity: Int = 10_000,
    origin: StoreOrigin = StoreOrigin()
  ) {
    self.engine = engine
    self.origin = origin
    reads = SharedReads(engine)
    coding = ByteCoding(codec: codec, backend: engine.description)
    cache = DecodedCache(engine: engine, capacity: cacheCapacity)
  }

  /// The codec of every type but `Data` and `String`.
  public var codec: any StoreCodec { coding.codec }

  /// Stores a value, replacing what was there.
  ///
  /// - Parameters:
  ///   - value: the value.
  ///   - key: its name.
  ///   - durability: what the value has survived when this returns.
  ///   - transaction: the logical change that the write belongs to; a fresh one unless given.
  /// - Throws: `StorageError`; after `encodingFailed` nothing was written. `CancellationError` when the task was
  ///   cancelled before the write began.
  public func save<T: Encodable & Sendable>(
    _ value: T, for key: StoreKey, durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    let data = try coding.encode(value, for: key)
    let batch = WriteBatch([.put(key, data)], transaction: transaction, durability: durability)
    try await commit(batch, [(key, Box(value))])
  }

  /// Commits a batch and keeps what it has written; `nil` is a deletion.
  @discardableResult
  func commit(
    _ batch: WriteBatch, _ written: [(key: StoreKey, box: (any AnyBox)?)]
  ) async throws -> StoreCommit {
    let commit = try await engine.commit(batch, from: origin)
    cache?.committed(commit, written)
    return commit
  }

  /// The value of a key; `nil` when it is proven absent.
  ///
  /// A value in memory is returned without reading.
  ///
  /// - Throws: `StorageError`: `decodingFailed` when the stored bytes are not a `T`, in which case they are kept.
  public func load<T: Decodable & Sendable>(_ type: T.Type, for key: StoreKey) async throws -> T? {
    try await load(key) { try coding.decode(type, from: $0, for: key) }
  }

  func load<T: Sendable>(_ key: StoreKey, decode: (Data) throws -> T) async throws -> T? {
    guard let cache else { return try await engine.entry(key).map { try decode($0.value) } }
    let (box, validTo) = cache.lookUp(key)
    if let value: T = Self.unbox(box) { return value }
    guard let entry = try await engine.entry(key) else { return nil }
    let value = try decode(entry.value)
    cache.insert([(key, Box(value))], readAt: validTo)
    return value
  }

  /// The value of a key if it is in memory and still what the store holds; `nil` says nothing.
  ///
  /// About 0.2 µs; some more after others have committed, when what they touched is read from the journal. Use it where
  /// an interface must be drawn at once, and ``load(_:for:)-(_,StoreKey)`` when it has no answer.
  @inlinable  // the type is known where it is called
  public func cached<T: Sendable>(_ type: T.Type, for key: StoreKey) -> T? {
    Self.unbox(cachedBox(key))
  }

  @usableFromInline
  func cachedBox(_ key: StoreKey) -> (any AnyObject & Sendable)? { cache?.lookUp(key).box }

  /// Removes a value. A missing one is no error.
  /// - Throws: `StorageError`.
  public func delete(
    _ key: StoreKey, durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    try await commit(WriteBatch([.delete(key)], transaction: transaction, durability: durability), [(key, nil)])
  }

  /// Whether there is a value, whatever its type.
  /// - Throws: `StorageError` when the store cannot tell; `false` means proven absent.
  public func exists(_ key: StoreKey) async throws -> Bool {
    if cache?.lookUp(key).box != nil { return true }
    return try await engine.contains(key)
  }

  /// Removes the decoded values from memory, for example when the system is short of it. Nothing stored is changed.
  public func dropCache() {
    cache?.removeAll()
  }

  /// A box holds exactly the type it was made for, so one comparison of types makes the cast safe.
  @inlinable
  static func unbox<T: Sendable>(_ box: (any AnyObject & Sendable)?) -> T? {
    guard let box, type(of: box) == Box<T>.self else { return nil }
    return unsafeDowncast(box, to: Box<T>.self).value
  }
}
