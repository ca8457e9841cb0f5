import CofferLocks
import Foundation

/// A decoded value. A class, so that a cache hit copies one reference under the lock.
@usableFromInline
final class Box<T: Sendable>: Sendable {
  @usableFromInline let value: T
  init(_ value: T) { self.value = value }
}

/// A type-erased `Box`.
typealias AnyBox = AnyObject & Sendable

/// A cache of decoded values by key, all valid for one revision of the store, `validTo`.
///
/// Before each use the cache catches up with the engine: it drops the keys that newer commits changed, or everything
/// when the engine no longer has those commits. A value is inserted only if no commit has changed its key since it was
/// read.
final class DecodedCache: Sendable {
  fileprivate struct State {
    var validTo: StoreRevision
    // Two generations: values that were not used while the young one filled up are dropped with the old one at once.
    var young: [StoreKey: any AnyBox] = [:]
    var old: [StoreKey: any AnyBox] = [:]
    /// The dates from which cached values are absent.
    var expiries: [StoreKey: Date] = [:]
  }

  private let engine: any StorageEngine
  private let generationSize: Int
  private let state: Locked<State>

  /// Creates a cache, or returns `nil` for an engine that does not report the writes of others in time, and for a
  /// capacity of zero.
  init?(engine: any StorageEngine, capacity: Int) {
    guard capacity > 0, engine.capabilities.contains([.revisions, .immediateRevisions]) else { return nil }
    self.engine = engine
    generationSize = max(1, capacity / 2)
    state = Locked(State(validTo: engine.latestRevision))
  }

  /// Returns the box of a key, the revision for which the cache is valid, and the date from which the value is absent;
  /// `nil` if it does not expire or is not cached.
  func lookUp(_ key: StoreKey) -> (box: (any AnyBox)?, validTo: StoreRevision, expires: Date?) {
    let latest = engine.latestRevision
    return state.withLock { state in
      if state.validTo < latest { state.catchUp(to: latest, engine) }
      if !state.expiries.isEmpty { state.dropIfExpired(key, engine.clock) }
      return (state.box(key, generationSize), state.validTo, state.expiries.isEmpty ? nil : state.expiries[key])
    }
  }

  /// Returns the boxes of several keys, which belong to one state, and its revision.
  func lookUp(_ keys: [StoreKey]) -> (boxes: [(any AnyBox)?], validTo: StoreRevision) {
    let latest = engine.latestRevision
    return state.withLock { state in
      if state.validTo < latest { state.catchUp(to: latest, engine) }
      let boxes = keys.map { key in
        if !state.expiries.isEmpty { state.dropIfExpired(key, engine.clock) }
        return state.box(key, generationSize)
      }
      return (boxes, state.validTo)
    }
  }

  /// Inserts values that were read at `revision` or later, except those that have been changed since.
  func insert(
    _ items: [(key: StoreKey, box: any AnyBox)], readAt revision: StoreRevision, expiries: [StoreKey: Date] = [:]
  ) {
    state.withLock { state in
      let items = items.map { ($0.key, $0.box, expiries.isEmpty ? nil : expiries[$0.key]) }
      state.settle(items, knownAt: revision, engine, generationSize)
    }
  }

  /// Inserts the values that an own commit has written; `nil` is a deletion.
  func committed(
    _ commit: StoreCommit, _ items: [(key: StoreKey, box: (any AnyBox)?)], expiries: [StoreKey: Date] = [:]
  ) {
    guard !commit.changed.isEmpty else { return }  // An empty commit has the revision of an earlier one.
    state.withLock { state in
      let items = items.map { ($0.key, $0.box, expiries.isEmpty ? nil : expiries[$0.key]) }
      // What a cleared prefix or store had is dropped as it is for the commits of others.
      let clears = commit.changed.isEverything || !commit.changed.prefixes.isEmpty
      guard !clears, state.validTo.next == commit.revision else {
        state.settle(items, knownAt: commit.revision, engine, generationSize)
        return
      }
      for (key, box, expires) in items { state.put(key, box, expires: expires, generationSize) }
      state.validTo = commit.revision
    }
  }

  func removeAll() {
    state.withLock { $0.forgetAll() }
  }
}

extension DecodedCache.State {
  fileprivate mutating func box(_ key: StoreKey, _ generationSize: Int) -> (any AnyBox)? {
    if let box = young[key] { return box }
    guard let box = old.removeValue(forKey: key) else { return nil }
    put(key, box, expires: expiries.isEmpty ? nil : expiries[key], generationSize)
    return box
  }

  fileprivate mutating func put(_ key: StoreKey, _ box: (any AnyBox)?, expires: Date?, _ generationSize: Int) {
    guard let box else { return remove(key) }
    if young.count >= generationSize, young[key] == nil {
      old = young
      young = [:]
      if !expiries.isEmpty { expiries = expiries.filter { old[$0.key] != nil } }
    }
    young[key] = box
    if expires != nil || !expiries.isEmpty { expiries[key] = expires }
  }

  fileprivate mutating func dropIfExpired(_ key: StoreKey, _ clock: StoreClock) {
    guard let date = expiries[key], ValueAttributes(expires: date).isExpired(at: clock.now()) else { return }
    remove(key)
  }

  fileprivate mutating func remove(_ key: StoreKey) {
    young[key] = nil
    old[key] = nil
    if !expiries.isEmpty { expiries[key] = nil }
  }

  fileprivate mutating func forgetAll() {
    young = [:]
    old = [:]
    expiries = [:]
  }

  /// Drops the keys that commits after `validTo` have changed.
  fileprivate mutating func catchUp(to latest: StoreRevision, _ engine: any StorageEngine) {
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
      for prefix in commit.changed.prefixes {
        young = young.filter { !$0.key.hasPrefix(prefix) }
        old = old.filter { !$0.key.hasPrefix(prefix) }
      }
    }
  }

  /// Inserts values that were valid at `revision`, except those that a later commit has changed.
  fileprivate mutating func settle(
    _ items: [(StoreKey, (any AnyBox)?, Date?)], knownAt revision: StoreRevision, _ engine: any StorageEngine,
    _ generationSize: Int
  ) {
    let latest = engine.latestRevision
    if validTo < latest { catchUp(to: latest, engine) }
    guard validTo != revision else {
      for (key, box, expires) in items { put(key, box, expires: expires, generationSize) }
      return
    }
    guard validTo > revision, let commits = engine.recentCommits(after: revision), let last = commits.last,
      last.revision >= validTo
    else { return }
    for (key, box, expires) in items where !commits.contains(where: { $0.changed.contains(key) }) {
      put(key, box, expires: expires, generationSize)
    }
  }
}
