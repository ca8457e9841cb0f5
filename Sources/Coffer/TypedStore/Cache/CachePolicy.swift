public import Foundation

/// The limits of the decoded values that a ``TypedStore`` keeps in memory.
///
/// ```swift
/// let policy = CachePolicy(maximumBytes: 8 << 20, timeToLive: 600)
/// let store = TypedStore(engine: engine, cache: policy)
/// ```
///
/// Whatever the policy says, a value that any process has changed is dropped before the next read.
public struct CachePolicy: Sendable {
  /// Returns the cost of a value in bytes. It is called under a lock and must neither block nor use the store.
  public typealias Cost = @Sendable (_ key: KeyName, _ encodedSize: Int) -> Int

  /// The maximum number of cached values; 0 disables the cache. At least the most recently used half is retained.
  public var maximumCount: Int
  /// The maximum sum of the costs of all cached values, which is never exceeded; 0 disables the cache. A value that
  /// costs more than half of it is not cached.
  public var maximumBytes: Int
  /// The number of seconds for which a value is cached, by the clock of the engine; `nil` for no limit.
  public var timeToLive: TimeInterval?
  /// Returns the cost of a value; `nil`, the default, for the size of the encoded value.
  public var cost: Cost?

  /// Creates a policy.
  /// - Parameters:
  ///   - maximumCount: the maximum number of cached values.
  ///   - maximumBytes: the maximum sum of their costs, 64 MiB by default.
  ///   - timeToLive: the number of seconds for which a value is cached.
  ///   - cost: returns the cost of a value.
  public init(
    maximumCount: Int = 10_000, maximumBytes: Int = 64 << 20, timeToLive: TimeInterval? = nil, cost: Cost? = nil
  ) {
    self.maximumCount = maximumCount
    self.maximumBytes = maximumBytes
    self.timeToLive = timeToLive
    self.cost = cost
  }
}

extension CachePolicy {
  /// The counters of the cache of a ``TypedStore``, since it was created.
  public struct Statistics: Hashable, Sendable {
    /// The number of look-ups that found a value.
    public let hits: Int
    /// The number of look-ups that found none.
    public let misses: Int
    /// The number of values that were dropped because the cache was full. Values that were changed, removed or dropped
    /// by hand are not counted.
    public let evictions: Int
    /// The sum of the costs of the cached values, in bytes.
    public let bytes: Int
    /// The number of cached values.
    public let count: Int

    /// The counters of a store that caches nothing.
    static let none = CachePolicy.Statistics(hits: 0, misses: 0, evictions: 0, bytes: 0, count: 0)
  }
}
