import Coffer
import CofferCore
import Dispatch
import Foundation

/// A setting in memory: the decoded value of one key, and the revision of the store for which it is valid.
///
/// Values are boxed, so that the cell is not generic: a read by the application is then compiled for its type.
final class SettingCell: Sendable {
  fileprivate struct State {
    /// `nil` while no value is stored.
    var value: (any AnyBox)?
    /// The revision for which the value is valid; `nil` if it must be read.
    var validTo: StoreRevision?
    /// The number of own writes that are not committed yet or will be repeated. The value is theirs until then.
    var pending = 0
    /// The number of own writes so far.
    var writes = 0
    /// Whether the value may not be what is stored, since one of the writes since `pending` was zero has failed.
    var mustRead = false
  }

  let resolved: StorageRouter.ResolvedKey
  let declaration: (any AnyObject & Sendable)?
  /// The default of the declaration.
  let fallback: any AnyBox
  private let engine: any SynchronousEngine
  /// Whether the revision of the store shows that a value is still current.
  private let caches: Bool
  private let state = Locked(State())
  /// Held while a write is submitted, so that writes reach the engine in the order in which they became visible.
  private let order = NSLock()

  init(
    _ resolved: StorageRouter.ResolvedKey, _ engine: any SynchronousEngine, declaration: (any AnyObject & Sendable)?,
    fallback: any AnyBox
  ) {
    self.declaration = declaration
    self.resolved = resolved
    self.engine = engine
    self.fallback = fallback
    caches = engine.capabilities.contains(.immediateRevisions)
  }

  /// The last known value; `nil` if none is stored or known.
  var known: (any AnyBox)? { state.withLock { $0.value } }

  /// The stored value or the default, if it is in memory and current; otherwise `nil`.
  var current: (any AnyBox)? {
    let latest = engine.latestRevision
    return state.withLock { $0.isCurrent(latest) ? $0.value ?? fallback : nil }
  }

  /// Returns the stored value, or `nil` if it is proven absent. It is read again after a commit has changed it.
  func read(_ decode: (EncodedValue) throws -> any AnyBox) throws -> (any AnyBox)? {
    let latest = engine.latestRevision
    let (isCurrent, value, writes) = state.withLock { state in
      (state.isCurrent(latest) || state.catchUp(to: latest, resolved.key, engine), state.value, state.writes)
    }
    if isCurrent { return value }
    let entry = try engine.entryNow(resolved.key)
    let stored = try entry.map { try decode(EncodedValue($0)) }
    return state.withLock { state in
      // An own write is newer than what was read.
      guard state.writes == writes else { return state.value }
      // A value that expires is read each time.
      (state.value, state.validTo) = (stored, caches && entry?.attributes.expires == nil ? latest : nil)
      return stored
    }
  }

  /// Submits an operation that stores a value, or removes it if `value` is `nil`.
  ///
  /// A write of a key with versions that was overtaken by another writer is repeated, unless a later own write has
  /// replaced it. Until then it counts as pending, so that reads return its value.
  /// - Parameter completion: called once with the outcome; with a failure that comes after the return, on a thread that
  ///   no writer needs.
  func submit(
    _ operation: WriteBatch.Operation, _ value: (any AnyBox)?,
    completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    submit(operation, value, repeating: nil, completion)
  }

  private func submit(
    _ operation: WriteBatch.Operation, _ value: (any AnyBox)?, repeating earlier: Int?,
    _ completion: @escaping @Sendable (Result<Void, any Error>) -> Void
  ) {
    let batch: WriteBatch
    do { batch = WriteBatch(try versioned(operation), durability: .relaxed) } catch {
      if earlier != nil { state.withLock { $0.end(validTo: nil) } }
      return completion(.failure(error))
    }
    let expires = !batch.expiries.isEmpty
    // An outcome that is known before `order` is free is passed on afterwards: its recipient may write this setting.
    let early = Locked<(isHeld: Bool, result: Result<StoreCommit, any Error>?)>((true, nil))
    order.lock()
    guard let number = state.withLock({ $0.begin(value, repeating: earlier) }) else {
      order.unlock()
      return completion(.success(()))
    }
    let pass: @Sendable (Result<StoreCommit, any Error>) -> Void = { [self] result in
      guard isOvertaken(result) else { return completion(result.map { _ in }) }
      submit(operation, value, repeating: number, completion)
    }
    engine.submit(batch, from: resolved.store.origin) { [self] result in
      if !isOvertaken(result) { state.withLock { $0.end(validTo: expires ? nil : try? result.get().revision) } }
      let isHeld = early.withLock { early in
        if early.isHeld { early.result = result }
        return early.isHeld
      }
      guard !isHeld else { return }
      // This may be the thread that commits, which a repeated write or the caller's handler would wait for.
      if result.error == nil { pass(result) } else { DispatchQueue.global().async { pass(result) } }
    }
    order.unlock()
    let result = early.withLock { early in
      early.isHeld = false
      return early.result
    }
    if let result { pass(result) }
  }

  /// Returns the operations of a write of a key with versions: a newer value is refused.
  private func versioned(_ operation: WriteBatch.Operation) throws -> [WriteBatch.Operation] {
    guard let schema = resolved.record.schema, case .put = operation else { return [operation] }
    let entry = try engine.entryNow(resolved.key)
    let location = resolved.store.coding.location
    if let entry { _ = try schema.storedVersion(entry.attributes, of: resolved.key, at: location) }
    return [.require(resolved.key, entry?.revision), operation]
  }

  /// Whether another writer of a key with versions was faster.
  private func isOvertaken(_ result: Result<StoreCommit, any Error>) -> Bool {
    resolved.record.schema != nil && (result.error as? StorageError)?.code == .preconditionFailed
  }
}

extension SettingCell.State {
  fileprivate func isCurrent(_ latest: StoreRevision) -> Bool { pending > 0 || validTo == latest }

  /// Notes an own write and returns its number; `nil` if it repeats one that is no longer the last, which then ends.
  fileprivate mutating func begin(_ value: (any AnyBox)?, repeating earlier: Int?) -> Int? {
    if let earlier, earlier != writes {
      end(validTo: nil)
      return nil
    }
    self.value = value
    if earlier == nil { pending += 1 }
    writes += 1
    return writes
  }

  /// Notes the end of an own write, with the revision for which its value is valid; `nil` if it must be read again.
  fileprivate mutating func end(validTo revision: StoreRevision?) {
    pending -= 1
    if revision == nil { mustRead = true }
    guard pending == 0 else { return }
    validTo = mustRead ? nil : revision
    mustRead = false
  }

  /// Returns whether the value is still current at a revision, according to the commits since it was read.
  fileprivate mutating func catchUp(
    to latest: StoreRevision, _ key: KeyName, _ engine: any SynchronousEngine
  ) -> Bool {
    guard let validTo, let commits = engine.recentCommits(after: validTo) else { return false }
    guard let last = commits.last, last.revision >= latest else { return validTo >= latest }
    guard !commits.contains(where: { $0.changed.contains(key) }) else { return false }
    self.validTo = last.revision
    return true
  }
}
