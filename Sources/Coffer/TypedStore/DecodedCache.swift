import CofferCore
import Foundation

/// A decoded value. A class, so that a cache hit copies one reference under the lock.
@usableFromInline
package final class Box<T: Sendable>: AnyBox {
  @usableFromInline let value: T
  /// The size of the encoded value in bytes.
  package let size: Int

  /// Required, so that an instance can be made of a stored type: generic code looks a named one up each time.
  package required init(_ value: T, size: Int = 0) {
    self.value = value
    self.size = size
  }
}

/// A type-erased `Box`.
package protocol AnyBox: AnyObject, Sendable {
  var size: Int { get }
}

/// A cache of decoded values by key, all valid for one revision of the store, `validTo`.
///
/// Before each use the cache catches up with the engine: it drops the keys that newer commits changed, or everything
/// when the engine no longer has those commits. A value is inserted only if no commit has changed its key since it was
/// read.
final class DecodedCache: Sendable {
  fileprivate struct State {
    // In the state, so that no closure under the lock captures the cache.
    let engine: any StorageEngine
    let policy: CachePolicy
    let generationSize: Int
    let isReadOnly: Bool
    var validTo: StoreRevision
    // Two generations: values that were not used while the young one filled up are dropped with the old one at once.
    var young: [KeyName: CachedBox] = [:]
    var old: [KeyName: CachedBox] = [:]
    /// The costs of the generations, each at most half of the policy's limit.
    var youngBytes = 0
    var oldBytes = 0
    /// The dates from which cached values are absent.
    var expiries: [KeyName: Date] = [:]
    var hits = 0
    var misses = 0
    var evictions = 0
  }

  private let state: Locked<State>
  /// Whether the newest revision is a query of the store, which must not run under the lock.
  private let isReadOnly: Bool

  /// Creates a cache, or returns `nil` for an engine that does not report the writes of others in time, and for a
  /// capacity of zero.
  init?(engine: any StorageEngine, policy: CachePolicy) {
    guard policy.maximumCount > 0, policy.maximumBytes > 0,
      engine.capabilities.contains([.revisions, .immediateRevisions])
    else { return nil }
    isReadOnly = engine.isReadOnly
    state = Locked(
      State(
        engine: engine, policy: policy, generationSize: max(1, policy.maximumCount / 2), isReadOnly: isReadOnly,
        validTo: engine.latestRevision))
  }

  /// Returns the box of a key, the revision for which the cache is valid, and the date from which the value is absent;
  /// `nil` if it does not expire or is not cached.
  func lookUp(_ key: KeyName) -> (box: (any AnyBox)?, validTo: StoreRevision, expires: Date?) {
    if isReadOnly { catchUpFirst() }
    return state.withLock(passing: key) { state, key in
      state.catchUp()
      if !state.expiries.isEmpty { state.dropIfExpired(key) }
      return (state.box(key), state.validTo, state.expiries.isEmpty ? nil : state.expiries[key])
    }
  }

  /// Catches up with a store whose newest revision is a query.
  private func catchUpFirst() {
    let latest = state.withLock { $0.engine }.latestRevision
    state.withLock { if $0.validTo < latest { $0.catchUp(to: latest) } }
  }

  /// Returns the boxes of several keys, which belong to one state, and its revision.
  func lookUp(_ keys: [KeyName]) -> (boxes: [(any AnyBox)?], validTo: StoreRevision) {
    if isReadOnly { catchUpFirst() }
    return state.withLock { state in
      state.catchUp()
      let boxes = keys.map { key in
        if !state.expiries.isEmpty { state.dropIfExpired(key) }
        return state.box(key)
      }
      return (boxes, state.validTo)
    }
  }

  /// A value, or a removal, with the date from which the value is absent.
  typealias Item = (key: KeyName, box: (any AnyBox)?, expires: Date?)

  /// Inserts values that were read at `revision` or later, except those that have been changed since.
  func insert(_ items: some Sequence<Item>, readAt revision: StoreRevision) {
    state.withLock { $0.settle(items, knownAt: revision) }
  }

  /// Inserts the values that an own commit has written; `nil` is a deletion.
  func committed(
    _ commit: StoreCommit, _ items: [(key: KeyName, box: (any AnyBox)?)], expiries: [KeyName: Date] = [:]
  ) {
    guard !commit.changed.isEmpty else { return }  // An empty commit has the revision of an earlier one.
    state.withLock { state in
      let items = items.lazy.map { ($0.key, $0.box, expiries.isEmpty ? nil : expiries[$0.key]) as Item }
      // What a cleared prefix or store had is dropped as it is for the commits of others.
      let clears = commit.changed.isEverything || !commit.changed.prefixes.isEmpty
      guard !clears, state.validTo.next == commit.revision else {
        state.settle(items, knownAt: commit.revision)
        return
      }
      for (key, box, expires) in items { state.put(key, box, expires: expires) }
      state.validTo = commit.revision
    }
  }

  func removeAll() {
    state.withLock { $0.forgetAll() }
  }

  func remove(_ key: KeyName) {
    state.withLock { $0.remove(key) }
  }

  func remove(prefix: KeyName) {
    state.withLock { $0.remove(prefix: prefix) }
  }

  var statistics: CachePolicy.Statistics {
    state.withLock { state in
      CachePolicy.Statistics(
        hits: state.hits, misses: state.misses, evictions: state.evictions, bytes: state.youngBytes + state.oldBytes,
        count: state.young.count + state.old.count)
    }
  }
}

/// A cached value.
private struct CachedBox: Sendable {
  let box: any AnyBox
  let cost: Int
  /// The seconds since the reference date when the value was cached; 0 without a time to live.
  let since: Double
}

extension DecodedCache.State {
  fileprivate mutating func box(_ key: KeyName) -> (any AnyBox)? {
    if policy.timeToLive != nil { dropIfStale(key) }
    if let cached = young[key] {
      hits += 1
      return cached.box
    }
    guard let cached = old.removeValue(forKey: key) else {
      misses += 1
      return nil
    }
    hits += 1
    oldBytes -= cached.cost
    insert(key, cached, expires: expiries.isEmpty ? nil : expiries[key])
    return cached.box
  }

  fileprivate mutating func put(_ key: KeyName, _ box: (any AnyBox)?, expires: Date?) {
    guard let box else { return remove(key) }
    let cost = max(0, policy.cost.map { $0(key, box.size) } ?? box.size)
    guard cost <= policy.maximumBytes / 2 else { return remove(key) }
    let since = policy.timeToLive == nil ? 0 : engine.clock.now().timeIntervalSinceReferenceDate
    insert(key, CachedBox(box: box, cost: cost, since: since), expires: expires)
  }

  private mutating func insert(_ key: KeyName, _ cached: CachedBox, expires: Date?) {
    if (young.count >= generationSize && young[key] == nil) || youngBytes + cached.cost > policy.maximumBytes / 2 {
      // A value that is about to be replaced is not evicted.
      if let replaced = old.removeValue(forKey: key) { oldBytes -= replaced.cost }
      evictions += old.count
      (old, oldBytes) = (young, youngBytes)
      (young, youngBytes) = ([:], 0)
      if !expiries.isEmpty { expiries = expiries.filter { old[$0.key] != nil } }
    }
    if !old.isEmpty, let replaced = old.removeValue(forKey: key) { oldBytes -= replaced.cost }
    youngBytes += cached.cost
    if let replaced = young.updateValue(cached, forKey: key) { youngBytes -= replaced.cost }
    if expires != nil || !expiries.isEmpty { expiries[key] = expires }
  }

  /// Drops a value that was cached longer ago than the policy allows, or later than now, if the clock was set back.
  private mutating func dropIfStale(_ key: KeyName) {
    guard let limit = policy.timeToLive, let cached = young[key] ?? old[key] else { return }
    let age = engine.clock.now().timeIntervalSinceReferenceDate - cached.since
    if age < 0 || age >= limit { remove(key) }
  }

  fileprivate mutating func dropIfExpired(_ key: KeyName) {
    guard let date = expiries[key], ValueAttributes(expires: date).isExpired(at: engine.clock.now()) else { return }
    remove(key)
  }

  fileprivate mutating func remove(_ key: KeyName) {
    if let cached = young.removeValue(forKey: key) { youngBytes -= cached.cost }
    if let cached = old.removeValue(forKey: key) { oldBytes -= cached.cost }
    if !expiries.isEmpty { expiries[key] = nil }
  }

  fileprivate mutating func forgetAll() {
    (young, youngBytes) = ([:], 0)
    (old, oldBytes) = ([:], 0)
    expiries = [:]
  }

  fileprivate mutating func remove(prefix: KeyName) {
    for key in young.keys where key.hasPrefix(prefix) { remove(key) }
    for key in old.keys where key.hasPrefix(prefix) { remove(key) }
  }

  /// Drops the keys that commits after `validTo` have changed.
  fileprivate mutating func catchUp() {
    guard !isReadOnly else { return }  // which is done before each look-up
    let latest = engine.latestRevision
    if validTo < latest { catchUp(to: latest) }
  }

  fileprivate mutating func catchUp(to latest: StoreRevision) {
    guard let commits = engine.recentCommits(after: validTo), let last = commits.last, last.revision >= latest else {
      forgetAll()
      validTo = latest
      return
    }
    validTo = last.revision
    guard !young.isEmpty || !old.isEmpty else { return }
    for commit in commits {
      if commit.changed.isEverything { return forgetAll() }
      for key in commit.changed.keys { remove(key) }
      for prefix in commit.changed.prefixes { remove(prefix: prefix) }
    }
  }

  /// Inserts values that were valid at `revision`, except those that a later commit has changed.
  fileprivate mutating func settle(
    _ items: some Sequence<DecodedCache.Item>, knownAt revision: StoreRevision
  ) {
    catchUp()
    guard validTo != revision else {
      for (key, box, expires) in items { put(key, box, expires: expires) }
      return
    }
    guard validTo > revision, let commits = engine.recentCommits(after: revision), let last = commits.last,
      last.revision >= validTo
    else { return }
    for (key, box, expires) in items where !commits.contains(where: { $0.changed.contains(key) }) {
      put(key, box, expires: expires)
    }
  }
}
