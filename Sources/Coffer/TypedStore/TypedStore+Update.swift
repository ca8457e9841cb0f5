import CofferCore
public import Foundation

extension TypedStore {
  /// Atomically replaces a value by one that is computed from it, so that no concurrent change is lost.
  ///
  /// ```swift
  /// try await store.update([String].self, for: recent) { list in
  ///   Array((["today"] + (list ?? [])).prefix(10))
  /// }
  /// ```
  ///
  /// `transform` receives the current value (`nil`: absent) and returns the new one (`nil`: remove). If another writer
  /// commits first, it **runs again** with the newer value, until the commit succeeds or the task is cancelled. It must
  /// therefore have no side effects. A value that expires keeps its expiry.
  ///
  /// - Returns: the value that was stored; `nil` when it was removed.
  /// - Throws: any error of `transform`, `StorageError` (`unsupported` for an engine without preconditions), or
  ///   `CancellationError`. Nothing was written, unless the code is `outcomeUnknown` or `unfinished`.
  @discardableResult
  public func update<T: Codable & Sendable>(
    _ type: T.Type, for key: KeyName, durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ transform: @Sendable (T?) throws -> T?
  ) async throws -> T? {
    try await update(CodedValue<T>(store: self, key: key), durability, transaction, transform)
  }

  package func update<P: WritablePlan>(
    _ plan: P, _ durability: StoreDurability, _ transaction: TransactionID?,
    _ transform: (P.Value?) throws -> P.Value?
  ) async throws -> P.Value? {
    try await reading {
      try await updateOnce(plan, durability, transaction, transform)
    } damaged: {
      try await plan.handle($0)
    }
  }

  private func updateOnce<P: WritablePlan>(
    _ plan: P, _ durability: StoreDurability, _ transaction: TransactionID?,
    _ transform: (P.Value?) throws -> P.Value?
  ) async throws -> P.Value? {
    let key = plan.key
    // A store that is open for reading only refuses the commit.
    guard engine.isReadOnly || engine.capabilities.contains([.preconditions, .revisions, .atomicBatches]) else {
      throw StorageError.unsupported(
        "atomic updates", advice: "Load the value and save it; a concurrent change is then lost.",
        location: engine.description)
    }
    try await pending?.flush([key])
    // Updates of one key through this store are serialized; otherwise each commit would restart all others.
    return try await updates.run(key) {
      var attempt = 0
      while true {
        try Task.checkCancellation()
        let entry = try await engine.entry(key)
        let old = try entry.map { try plan.decode(EncodedValue($0)) }
        let new = try transform(old)
        guard old != nil || new != nil else { return nil }
        var batch = WriteBatch(transaction: transaction, durability: durability)
        batch.require(key, at: entry?.revision)
        var attributes = ValueAttributes.none
        attributes.expires = entry?.attributes.expires
        attributes[.accessControl] = entry?.attributes[.accessControl]
        let ready = try new.map { try plan.ready($0, expires: nil) }
        if let encoded = ready?.encoded {
          batch.put(key, encoded.data, attributes.merging(encoded.attributes))
        } else {
          batch.delete(key)
        }
        do {
          try await commit(batch, [(key, ready?.box)], plan.traits)
          return new
        } catch let error as StorageError where error.code == .preconditionFailed {
          attempt += 1
          engine.tellRetry(.transaction, attempt: attempt, code: error.code)
        }
      }
    }
  }

  /// Atomically modifies a value, starting from a default when it is absent.
  ///
  /// ```swift
  /// let visits = try await store.update(visitsKey, default: 0) { $0 += 1 }
  /// ```
  ///
  /// `transform` may run again; see ``update(_:for:durability:transaction:_:)-(_,KeyName,_,_,_)``.
  ///
  /// - Returns: the value that was stored.
  /// - Throws: any error of `transform`, `StorageError` (`unsupported` for an engine without preconditions), or
  ///   `CancellationError`. Nothing was written, unless the code is `outcomeUnknown` or `unfinished`.
  @discardableResult
  public func update<T: Codable & Sendable>(
    _ key: KeyName, default defaultValue: T, durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ transform: @Sendable (inout T) throws -> Void
  ) async throws -> T {
    let stored = try await update(T.self, for: key, durability: durability, transaction: transaction) { old in
      var value = old ?? defaultValue
      try transform(&value)
      return value
    }
    return stored ?? defaultValue
  }
}
