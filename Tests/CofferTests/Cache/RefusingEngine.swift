import Coffer
import CofferLocks
import CofferTesting
import Foundation

/// An engine that refuses some keys, or is busy.
final class RefusingEngine: EngineDecorator {
  /// A commit that succeeded.
  struct Commit {
    /// The values of its keys, or -1 for those that are no numbers.
    var numbers: [StoreKey: Int] = [:]
    /// Whether one of its keys was refused since its last commit.
    var wasRefused = false
  }

  let base: any StorageEngine = MemoryEngine()
  let refused = Locked<Set<StoreKey>>([])
  let isBusy = Locked(false)
  let committed = Locked<[Commit]>([])
  let attempts = Locked(0)
  private let held = Locked<Set<StoreKey>>([])
  private let hook = Locked<(@Sendable (_ attempt: Int) async throws -> Void)?>(nil)
  private let namesKeys: Bool

  init(namesKeys: Bool = true) { self.namesKeys = namesKeys }

  /// Sets a hook that runs before each attempt to commit.
  func beforeCommit(_ hook: (@Sendable (_ attempt: Int) async throws -> Void)?) { self.hook.withLock { $0 = hook } }

  /// The keys of the commits, in their order.
  var keys: [Set<StoreKey>] { committed.withLock { $0.map { Set($0.numbers.keys) } } }

  func commit(_ batch: WriteBatch, from origin: StoreOrigin) async throws -> StoreCommit {
    await Task.yield()
    let attempt = attempts.withLock { attempts in
      attempts += 1
      return attempts
    }
    try await hook.withLock { $0 }?(attempt)
    if isBusy.withLock({ $0 }) { throw StorageError(.busy, "The store is locked.") }
    let refused = refused.withLock { $0 }
    let keys = batch.selection.keys
    if let key = keys.first(where: refused.contains) {
      held.withLock { $0.formUnion(refused.intersection(keys)) }
      throw StorageError(.unsupported, "Not this key.", key: namesKeys ? key : nil)
    }
    let result = try await base.commit(batch, from: origin)
    var commit = Commit()
    commit.wasRefused = held.withLock { held in
      defer { held.subtract(keys) }
      return !held.isDisjoint(with: keys)
    }
    for case .put(let key, let data, _) in batch.operations {
      commit.numbers[key] = Int(String(decoding: data, as: UTF8.self)) ?? -1
    }
    committed.withLock { $0.append(commit) }
    return result
  }
}
