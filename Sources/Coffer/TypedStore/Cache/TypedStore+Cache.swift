public import Foundation

extension TypedStore {
  /// Creates a typed store with policies for its cache and its writes.
  /// - Parameters:
  ///   - engine: the engine that stores the bytes.
  ///   - codec: the codec of values other than `Data` and `String`.
  ///   - cache: the limits of the cached decoded values.
  ///   - writePolicy: when saved values are committed: before `save` returns by default.
  ///   - origin: the origin of the store's commits; a new one by default.
  ///   - damagePolicy: the treatment of damaged values; the bytes that it returns are stored as they are.
  ///   - onDamageHandled: called when the policy has replaced a damaged value, or could not.
  @_disfavoredOverload
  public convenience init(
    engine: any StorageEngine, codec: any StoreCodec = JSONCodec(), cache: CachePolicy = CachePolicy(),
    writePolicy: WritePolicy = .through, origin: StoreOrigin = StoreOrigin(), damagePolicy: DamagePolicy<Data> = .fail,
    onDamageHandled: (@Sendable (HandledDamage) -> Void)? = nil
  ) {
    self.init(
      engine: engine, codec: codec, cacheCapacity: cache.maximumCount, origin: origin, damagePolicy: damagePolicy,
      onDamageHandled: onDamageHandled, cachePolicy: cache, writePolicy: writePolicy)
  }

  /// The counters of the cache. All are zero for an engine whose values are not cached. Reading them takes a lock.
  ///
  /// Each read looks up its key once, also ``cached(_:for:)-(_,KeyName)``. Values that are served from pending writes
  /// are not looked up.
  public var cacheStatistics: CachePolicy.Statistics { cache?.statistics ?? .none }

  /// Drops the cached value of a key. The stored value is not changed, and neither is a pending one.
  public func dropCache(of key: KeyName) { cache?.remove(key) }

  /// Drops the cached values whose keys start with a prefix. The stored values are not changed, and neither are pending
  /// ones. Takes time proportional to the number of cached values.
  public func dropCache(prefix: KeyName) { cache?.remove(prefix: prefix) }
}
