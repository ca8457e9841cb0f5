public import Foundation

extension TypedStore {
  /// Changes a value depending on what it is, so that no change by anybody else is lost.
  ///
  /// ```swift
  /// try await store.update([String].self, for: recent) { list in
  ///   Array((["today"] + (list ?? [])).prefix(10))
  /// }
  /// ```
  ///
  /// `transform` gets the present value (`nil`: absent) and returns the new one (`nil`: remove). When somebody else
  /// was first it **runs again** with the newer value, until it succeeds or the task is cancelled: let it do nothing
  /// but compute.
  ///
  /// - Returns: the value that was stored; `nil` when it was removed.
  /// - Throws: what `transform` throws, `StorageError` (`unsupported` for an engine without preconditions), or
  ///   `CancellationError`. Nothing was written then, except after `outcomeUnknown` and
  ///   `unfinished`.
  @discardableResult
  public func update<T: Codable & Sendable>(
    _ type: T.Type, for key: StoreKey, durability: StoreDurability = .full, transaction: TransactionID? = nil,
    _ transform: @Sendable (T?) throws -> T?
  ) async throws -> T? {
    try await update(key, durability: durability, transaction: transaction) {
      try coding.decode(type, from: $0, for: key)
    } encode: {
      try coding.encode($0, for: key)
    } transform: {
      try transform($0)
    }
  }

  func update<T: Sendable>(
    _ key: StoreKey, durability: StoreDurability, transaction: TransactionID?, attributes: ValueAttributes = .none,
    decode: (Data) throws -> T, encode: (T) throws -> Data, transform: (T?) throws -> T?
  ) async throws -> T? {
    guard engine.capabilities.contains([.preconditions, .revisions, .atomicBatches]) else {
      throw StorageError.unsupported(
        "atomic updates", advice: "Load the value and save it; a change in between is lost.",
        backend: engine.description)
    }
    // Updates of one key through this store take turns: otherwise each commit would make all others start over.
    return try await updates.run(key) {
      while true {
        try Task.checkCancellation()
        let entry = try await engine.entry(key)
        let old = try entry.map { try decode($0.value) }
        let new = try transform(old)
        guard old != nil || new != nil else { return nil }
        var batch = WriteBatch(transaction: transaction, durability: durability)
        batch.require(key, at: entry?.revision)
        if let new { batch.put(key, try encode(new), attributes) } else { batch.delete(key) }
        do {
          try await commit(batch, [(key, new.map { Box($0) })])
          return new
        } catch let error as StorageError where error.code == .preconditionFailed {
          continue
        }
      }
    }
  }

  /// Changes a value in place, starting from a default when it is absent.
  ///
  /// ```swift
  /// let visits = try await store.update(visitsKey, default: 0) { $0 += 1 }
  /// ```
  ///
  /// `transform` may run again; see ``update(_:for:durability:transaction:_:)-(_,StoreKey,_,_,_)``.
  ///
  /// - Returns: the value that was stored.
  @discardableResult
  public func update<T: Codable & Sendable>(
    _ key: StoreKey, default defaultValue: T, durability: StoreDurability = .full, transaction: TransactionID? = nil,
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
