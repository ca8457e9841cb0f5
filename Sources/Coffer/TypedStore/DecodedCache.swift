import CofferLocks

/// A decoded value of some type. Reference counted, so that a hit copies one pointer under the lock.
@usableFromInline
final class Box<T: Sendable>: Sendable {
  @usableFromInline let value: T
  init(_ value: T) { self.value = value }
}

/// Any `Box`.
typealias AnyBox = AnyObject & Sendable

/// Decoded values by key, all true for one revision of the store: `validTo`.
///
/// Before each use the cache catches up with the engine: it drops what newer commits touched, or everything when the
/// engine cannot tell. A value enters only when it is proven that nobody has touched its key since it was read.
final class DecodedCache: Sendable {
  fileprivate struct State {
    var validTo: StoreRevision
    // Two generations: what was not used while the young one filled up is dropped with the old one, in one step.
    var young: [StoreKey: any AnyBox] = [:]
    var old: [StoreKey: any AnyBox] = [:]
  }

  private let engine: any StorageEngine
  private let generationSize: Int
  private let state: Locked<State>

  /// - Returns: `nil` when caching is impossible: others may write to such an engine without being noticed.
  init?(engine: any StorageEngine, capacity: Int) {
    guard capacity > 0, engine.capabilities.contains([.revisions, .immediateRevisions]) else { return nil }
    self.engine = engine
    generationSize = max(1, capacity / 2)
    state = Locked(State(validTo: engine.latestRevision))
  }

  /// The box of a key and the revision that the cache is true for.
  func lookUp(_ key: StoreKey) -> (box: (any AnyBox)?, validTo: StoreRevision) {
    let latest = engine.latestRevision
    return state.withLock { state in
      if state.validTo < latest { state.catchUp(to: latest, engine) }
      return (state.box(key, generationSize), state.validTo)
    }
  }

  /// Takes values that were read from a state at `revision` or later, unless somebody has changed them since.
  func insert(_ items: [(key: StoreKey, box: any AnyBox)], readAt revision: StoreRevision) {
    state.withLock { $0.settle(items.map { ($0.key, $0.box) }, knownAt: revision, engine, generationSize) }
  }

  /// Takes what a commit of ours has written; `nil` is a deletion.
  func committed(_ commit: StoreCommit, _ items: [(key: StoreKey, box: (any AnyBox)?)]) {
    guard !commit.changed.isEmpty else { return }  // Such a commit has somebody else's revision.
    state.withLock { state in
      guard state.validTo.next == commit.revision else {
        state.settle(items.map { ($0.key, $0.box) }, knownAt: commit.revision, engine, generationSize)
        return
      }
      for item in items { state.put(item.key, item.box, generationSize) }
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
    put(key, box, generationSize)
    return box
  }

  fileprivate mutating func put(_ key: StoreKey, _ box: (any AnyBox)?, _ generationSize: Int) {
    guard let box else { return remove(key) }
    if young.count >= generationSize, young[key] == nil {
      old = young
      young = [:]
    }
    young[key] = box
  }

  fileprivate mutating func remove(_ key: StoreKey) {
    young[key] = nil
    old[key] = nil
  }

  fileprivate mutating func forgetAll() {
    young = [:]
    old = [:]
  }

  /// Drops what commits after `validTo` have touched.
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

  /// Puts values that were true at `revision`, where no later commit has touched them.
  fileprivate mutating func settle(
    _ items: [(StoreKey, (any AnyBox)?)], knownAt revision: StoreRevision, _ engine: any StorageEngine,
    _ generationSize: Int
  ) {
    let latest = engine.latestRevision
    if validTo < latest { catchUp(to: latest, engine) }
    guard validTo != revision else {
      for (key, box) in items { put(key, box, generationSize) }
      return
    }
    guard validTo > revision, let commits = engine.recentCommits(after: revision), let last = commits.last,
      last.revision >= validTo
    else { return }
    for (key, box) in items where !commits.contains(where: { $0.changed.contains(key) }) {
      put(key, box, generationSize)
    }
  }
}
