import Coffer
public import Foundation

extension StorageRouter {
  /// A list of changes that are committed together: all of them or none.
  ///
  /// ```swift
  /// try await router.batch { batch in
  ///   batch.set("Ann", for: .name)
  ///   batch.remove(.nickname)
  /// }
  /// ```
  public struct Batch: Sendable {
    /// A change of a resolved key.
    fileprivate typealias Step = (resolved: StorageRouter.ResolvedKey, add: @Sendable (inout TypedStore.Batch) -> Void)

    fileprivate var steps: [@Sendable (StorageRouter) async throws -> Step] = []

    /// Stores a value, replacing any existing one.
    /// - Parameters:
    ///   - value: the value.
    ///   - key: the key of the value.
    ///   - expires: the date from which the value is absent; by default, the end of the key's lifetime, if it has one.
    public mutating func set<K: StorageKey>(_ value: K.Value, for key: K, expires: Date? = nil) {
      steps.append { router in
        let plan = try await router.plan(key)
        let ready = try plan.ready(value, expires: expires)
        return (plan.resolved, { $0.save(ready) })
      }
    }

    /// Removes a value. Removing a missing value is not an error.
    public mutating func remove<K: StorageKey>(_ key: K) {
      steps.append { router in
        let resolved = try await router.resolve(key)
        return (resolved, { $0.delete(resolved.key, resolved.traits) })
      }
    }

    /// Removes all values in the namespace of a family.
    public mutating func removeAll<ID, Value>(of family: KeyFamily<ID, Value>) {
      steps.append { router in
        let resolved = try await router.resolve(declaration: family.declaration)
        return (resolved, { $0.clear(prefix: resolved.record.key, resolved.traits) })
      }
    }
  }
}

extension StorageRouter {
  /// Changes several keys in one commit with one transaction. If a key occurs twice, the last change wins.
  /// - Parameters:
  ///   - durability: the failures that the changes survive once the call returns.
  ///   - transaction: the logical change that the batch belongs to; a new one by default.
  ///   - build: adds the changes to the batch.
  /// - Throws: `notAtomic` when the keys are in several stores, for which there is no common commit; `StorageError`.
  ///   Nothing was written, unless the code is `outcomeUnknown` or `unfinished`.
  public nonisolated func batch(
    durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ build: (inout StorageRouter.Batch) throws -> Void
  ) async throws {
    var changes = StorageRouter.Batch()
    try build(&changes)
    let advice = "Make a batch for each store, or give the keys one domain. Nothing was written."
    let steps = try await inOneStore(changes.steps.count, \.resolved, advice) { try await changes.steps[$0](self) }
    guard let store = steps.first?.resolved.store else { return }
    try await store.batch(durability: durability, transaction: transaction) { batch in
      for step in steps { step.add(&batch) }
    }
  }

  /// Resolves each of several keys, and all of them again if one has put the encryption before their store.
  /// - Throws: `notAtomic` when the keys are in several stores.
  nonisolated func inOneStore<T>(
    _ count: Int, _ key: (T) -> ResolvedKey, _ advice: String, _ resolve: (Int) async throws -> T
  ) async throws -> [T] {
    var isLast = false
    while true {
      var all: [T] = []
      for index in 0..<count { all.append(try await resolve(index)) }
      let stores = all.map { key($0).store }
      guard let first = stores.first, let other = stores.first(where: { $0 !== first }) else { return all }
      guard !isLast else {
        throw StorageError(
          .notAtomic,
          "The keys are in several stores, which have no common commit or snapshot: \(first.engine.description) and "
            + "\(other.engine.description).",
          advice: advice)
      }
      registry.forgetStores()
      isLast = true
    }
  }
}
