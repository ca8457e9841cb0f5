extension TypedStore {
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
