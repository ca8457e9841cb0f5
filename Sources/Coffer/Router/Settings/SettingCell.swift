import CofferLocks
import Foundation

/// A setting in memory: the value of one key, and the revision of the store for which it is valid.
final class SettingCell<Value: Sendable>: Sendable {
  fileprivate struct State {
    /// `nil` while no value is stored.
    var value: Value?
    /// The revision for which the value is valid; `nil` if it must be read.
    var validTo: StoreRevision?
    /// The number of own writes that are not committed yet. The value is theirs until then.
    var pending = 0
    /// The number of own writes so far.
    var writes = 0
    /// Whether one of the writes since `pending` was zero has failed, so that the value may not be what is stored.
    var hasFailed = false
  }

  let resolved: StorageRouter.ResolvedKey
  let declaration: (any AnyObject & Sendable)?
  private let engine: any SynchronousEngine
  private let serializer: Serializer<Value>
  private let state = Locked(State())
  /// Held while a write is submitted, so that writes reach the engine in the order in which they became visible.
  private let order = NSLock()

  init(_ resolved: StorageRouter.ResolvedKey, _ engine: any SynchronousEngine, _ key: some StorageKey<Value>) {
    declaration = key.declaration
    self.resolved = resolved
    self.engine = engine
    serializer = key.serializer
  }

  /// The last known value; `nil` if none is stored or known.
  var known: Value? { state.withLock { $0.value } }

  /// Returns the stored value, or `nil` if it is proven absent. It is read again after a commit has changed it.
  func read() throws -> Value? {
    let latest = engine.latestRevision
    let (isCurrent, value, writes) = state.withLock { state in
      (
        state.pending > 0 || state.validTo == latest || state.catchUp(to: latest, resolved.key, engine), state.value,
        state.writes
      )
    }
    if isCurrent { return value }
    let entry = try engine.entryNow(resolved.key)
    let stored = try entry.map { try serializer.value(from: EncodedValue($0), resolved) }
    return state.withLock { state in
      // An own write is newer than what was read.
      guard state.writes == writes else { return state.value }
      // A value that expires is read each time.
      (state.value, state.validTo) = (stored, entry?.attributes.expires == nil ? latest : nil)
      return stored
    }
  }

  /// Stores a value, or removes it if it is `nil`, and submits the change to the engine.
  /// - Throws: `encodingFailed`, in which case nothing has changed. A failed commit is passed to `completion`.
  func write(
    _ value: Value?, _ router: StorageRouter, completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) throws {
    let operation: WriteBatch.Operation
    if let value {
      let encoded = try serializer.encoded(value, resolved)
      try router.checkSize(encoded.data.count, resolved.record, resolved.key)
      operation = .put(resolved.key, encoded.data, encoded.attributes)
    } else {
      operation = .delete(resolved.key)
    }
    submit(WriteBatch([operation], durability: .relaxed), value, completion: completion)
  }

  private func submit(
    _ batch: WriteBatch, _ value: Value?, completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    let expires = !batch.expiries.isEmpty
    // An outcome that is known before `order` is free is passed on afterwards: its recipient may write this setting.
    let early = Locked<(isHeld: Bool, result: Result<StoreCommit, any Error>?)>((true, nil))
    order.lock()
    state.withLock { state in
      state.value = value
      state.pending += 1
      state.writes += 1
    }
    engine.submit(batch, from: resolved.store.origin) { [self] result in
      state.withLock { $0.end(result, expires: expires) }
      let isHeld = early.withLock { early in
        if early.isHeld { early.result = result }
        return early.isHeld
      }
      if !isHeld { completion(result) }
    }
    order.unlock()
    let result = early.withLock { early in
      early.isHeld = false
      return early.result
    }
    if let result { completion(result) }
  }
}

extension SettingCell.State {
  /// Notes the outcome of an own write. After a failed one, the value is read again.
  fileprivate mutating func end(_ result: Result<StoreCommit, any Error>, expires: Bool) {
    pending -= 1
    if case .failure = result { hasFailed = true }
    guard pending == 0 else { return }
    validTo = hasFailed || expires ? nil : try? result.get().revision
    hasFailed = false
  }

  /// Returns whether the value is still current at a revision, according to the commits since it was read.
  fileprivate mutating func catchUp(
    to latest: StoreRevision, _ key: StoreKey, _ engine: any SynchronousEngine
  ) -> Bool {
    guard let validTo, let commits = engine.recentCommits(after: validTo) else { return false }
    guard let last = commits.last, last.revision >= latest else { return validTo >= latest }
    guard !commits.contains(where: { $0.changed.contains(key) }) else { return false }
    self.validTo = last.revision
    return true
  }
}
