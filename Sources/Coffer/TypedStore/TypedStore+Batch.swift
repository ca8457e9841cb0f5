public import Foundation

extension TypedStore {
  /// Stores several values in one commit: all of them or none. The last one wins where a key is given twice.
  ///
  /// ```swift
  /// try await store.saveAll([(nameKey, "Ann"), (cityKey, "Bern")])
  /// ```
  ///
  /// - Throws: `StorageError`: `unsupported` when there are several and the engine has no atomic batches. Whatever
  ///   is thrown, nothing was written, except after `outcomeUnknown` and `unfinished`.
  public func saveAll<T: Encodable & Sendable>(
    _ items: [(StoreKey, T)], durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    guard !items.isEmpty else { return }
    try requireAtomicBatches(count: items.count)
    var batch = WriteBatch(transaction: transaction, durability: durability)
    for (key, value) in items { batch.put(key, try coding.encode(value, for: key)) }
    try await commit(batch, items.map { ($0, Box($1)) })
  }

  /// Removes several values in one commit. Missing ones are no error.
  /// - Throws: `StorageError`: `unsupported` when there are several and the engine has no atomic batches.
  public func deleteAll(
    _ keys: [StoreKey], durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    guard !keys.isEmpty else { return }
    try requireAtomicBatches(count: keys.count)
    let batch = WriteBatch(keys.map { .delete($0) }, transaction: transaction, durability: durability)
    try await commit(batch, keys.map { ($0, nil) })
  }

  /// The values of several keys in the same order, all of one state of the store where the engine has snapshots.
  /// - Throws: `StorageError`: `decodingFailed` when the bytes of one of them are not a `T`.
  public func loadAll<T: Decodable & Sendable>(_ type: T.Type, keys: [StoreKey]) async throws -> [T?] {
    guard !keys.isEmpty else { return [] }
    // Values in memory may be of different states, so they are of no use here.
    let validTo = cache?.lookUp(keys[0]).validTo
    let entries = try await engine.entries(keys)
    var boxes: [(key: StoreKey, box: any AnyBox)] = []
    let values = try zip(keys, entries).map { key, entry -> T? in
      guard let entry else { return nil }
      let value = try coding.decode(type, from: entry.value, for: key)
      boxes.append((key, Box(value)))
      return value
    }
    if let validTo { cache?.insert(boxes, readAt: validTo) }
    return values
  }

  private func requireAtomicBatches(count: Int) throws {
    guard count == 1 || engine.capabilities.contains(.atomicBatches) else {
      throw StorageError.unsupported(
        "writing several values at once", advice: "Write them one by one. Nothing was written.",
        backend: engine.description)
    }
  }
}
