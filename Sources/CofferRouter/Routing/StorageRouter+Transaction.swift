import Coffer
public import Foundation

extension StorageRouter {
  /// The reads and writes of one attempt of `StorageRouter.transaction`.
  ///
  /// All reads are from one snapshot, and see the transaction's own writes. The writes are committed when the closure
  /// returns. A transaction is valid inside the closure; afterwards its methods throw `closed`.
  public final class Transaction: Sendable {
    private let base: TypedStore.Transaction
    private let router: StorageRouter

    init(_ base: TypedStore.Transaction, _ router: StorageRouter) {
      (self.base, self.router) = (base, router)
    }

    /// Returns the value of a key, or its default while there is none. The closure runs again if another writer changes
    /// the key before the commit.
    /// - Throws: `StorageError`: `notFound` when there is neither; `notAtomic` for a key of another store.
    public func get<K: StorageKey>(_ key: K) async throws -> K.Value {
      let plan = DeclaredValue(router, key, try await resolve(key))
      if let value = try await base.attempt.load(plan) ?? key.defaultValue { return value }
      throw StorageError.absent(plan.resolved)
    }

    /// Returns whether there is a stored value, regardless of the key's default, without reading it.
    /// - Throws: `StorageError` when it cannot be determined; `notAtomic` for a key of another store.
    public func exists<K: StorageKey>(_ key: K) async throws -> Bool {
      try await base.exists(resolve(key).key)
    }

    /// Stores a value, replacing any existing one. Nothing is visible to others before the transaction is committed.
    /// - Parameters:
    ///   - value: the value.
    ///   - key: the key of the value.
    ///   - expires: the date from which the value is absent; by default, the end of the key's lifetime, if it has one.
    /// - Throws: `StorageError`: `notAtomic` for a key of another store.
    public func set<K: StorageKey>(_ value: K.Value, for key: K, expires: Date? = nil) async throws {
      try base.save(DeclaredValue(router, key, try await resolve(key)).ready(value, expires: expires))
    }

    /// Removes a value. Removing a missing value is not an error.
    /// - Throws: `StorageError`: `notAtomic` for a key of another store.
    public func remove<K: StorageKey>(_ key: K) async throws {
      let resolved = try await resolve(key)
      try base.attempt.delete(resolved.key, resolved.traits)
    }

    private func resolve<K: StorageKey>(_ key: K) async throws -> StorageRouter.ResolvedKey {
      if try router.mustMigrate(key) {
        // The snapshot of this attempt has the state before the migration.
        base.attempt.prepare { [router] in _ = try await router.resolve(key) }
        throw StorageError(
          .migrationNeeded, "The key must be migrated before the transaction.",
          advice: "Let this error end the closure, which runs again. Nothing was written.",
          location: base.store.engine.description)
      }
      let resolved = try await router.resolve(key)
      guard resolved.store === base.store else {
        throw StorageError(
          .notAtomic,
          "The key is in another store than the transaction: \(resolved.store.engine.description) instead of "
            + "\(base.store.engine.description).",
          advice: "Use one transaction per store, or give the keys one domain. Nothing was written.", key: resolved.key)
      }
      return resolved
    }
  }
}

extension StorageRouter {
  /// Runs a closure that reads and writes several keys of one store, and commits its writes together: all of them or
  /// none.
  ///
  /// ```swift
  /// try await router.transaction(in: .database()) { transaction in
  ///   let balance = try await transaction.get(.balance)
  ///   try await transaction.set(balance - 5, for: .balance)
  ///   try await transaction.set(try await transaction.get(.spent) + 5, for: .spent)
  /// }
  /// ```
  ///
  /// The closure **runs again** if another writer changes a key that it has read, so it must have no side effects; see
  /// `TypedStore.transaction`.
  /// - Parameters:
  ///   - domain: the domain of the keys.
  ///   - durability: the failures that the writes survive once the call returns.
  ///   - id: the logical change that the writes belong to; a new one by default.
  ///   - limit: the maximum time of all attempts together, 30 s by default; `nil` for no limit.
  ///   - body: reads and writes.
  /// - Returns: the result of the closure.
  /// - Throws: Any error of `body`. `StorageError`: `notAtomic` for a key of another store, `busy` when the time is
  ///   over, and the errors of opening and writing the store. `CancellationError`.
  public nonisolated func transaction<R: Sendable>(
    in domain: StorageDomain, durability: StoreDurability = .full, id: TransactionID? = nil,
    within limit: Duration? = .seconds(30), _ body: @escaping @Sendable (StorageRouter.Transaction) async throws -> R
  ) async throws -> R {
    var isRepeated = false
    while true {
      let store = try await openStores.store(of: domain)
      do {
        return try await store.transaction(durability: durability, id: id, within: limit) {
          try await body(StorageRouter.Transaction($0, self))
        }
      } catch let error as StorageError where error.code == .notAtomic {
        // A key of the transaction may have put the encryption before the store, or be known with the store before it.
        guard try await openStores.store(of: domain) !== store || !isRepeated else { throw error }
        isRepeated = true
        registry.forgetStores()
      }
    }
  }

  /// Returns the stored value of a key with its revision, regardless of the key's default.
  /// - Throws: `StorageError`: `unsupported` for a store without revisions.
  public nonisolated func versioned<K: StorageKey>(_ key: K) async throws -> Versioned<K.Value> {
    let plan = try await plan(key)
    return try await plan.store.loadVersioned(plan)
  }

  /// Stores a value unless another writer has changed it since it was read.
  /// - Parameters:
  ///   - value: the value.
  ///   - key: the key of the value.
  ///   - revision: the revision at which the value was read; `nil` if it was absent.
  ///   - expires: the date from which the value is absent; by default, the end of the key's lifetime, if it has one.
  /// - Returns: the new revision of the value.
  /// - Throws: `StorageError`: `preconditionFailed` when it was changed, `unsupported` for a store without
  ///   preconditions. Nothing was written, unless the code is `outcomeUnknown` or `unfinished`.
  @discardableResult
  public nonisolated func setIfUnchanged<K: StorageKey>(
    _ value: K.Value, for key: K, since revision: StoreRevision?, expires: Date? = nil
  ) async throws -> StoreRevision {
    let plan = try await plan(key)
    return try await plan.store.saveIfUnchanged(plan.ready(value, expires: expires), since: revision)
  }
}
