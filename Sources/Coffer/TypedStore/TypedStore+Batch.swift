public import Foundation

extension TypedStore {
  /// Stores several values in one commit: all of them or none. If a key occurs twice, the last value wins.
  ///
  /// ```swift
  /// try await store.saveAll([(nameKey, "Ann"), (cityKey, "Bern")])
  /// ```
  ///
  /// - Throws: `StorageError`: `unsupported` when there are several and the engine has no atomic batches. After any
  ///   error nothing was written, unless its code is `outcomeUnknown` or `unfinished`.
  public func saveAll<T: Encodable & Sendable>(
    _ items: [(StoreKey, T)], durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    guard !items.isEmpty else { return }
    try requireAtomicBatches(count: items.count)
    var batch = WriteBatch(transaction: transaction, durability: durability)
    for (key, value) in items {
      let encoded = try coding.encode(value, for: key)
      batch.put(key, encoded.data, encoded.attributes)
    }
    try await commit(batch, items.map { ($0, Box($1)) })
  }

  /// Removes several values in one commit. Removing missing values is not an error.
  /// - Throws: `StorageError`: `unsupported` when there are several and the engine has no atomic batches.
  public func deleteAll(
    _ keys: [StoreKey], durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    guard !keys.isEmpty else { return }
    try requireAtomicBatches(count: keys.count)
    let batch = WriteBatch(keys.map { .delete($0) }, transaction: transaction, durability: durability)
    try await commit(batch, keys.map { ($0, nil) })
  }

  /// Returns the values of several keys in the same order, read from one snapshot where the engine has snapshots.
  /// - Throws: `StorageError`: `decodingFailed` when the bytes of one of them are not a `T`.
  public func loadAll<T: Decodable & Sendable>(_ type: T.Type, keys: [StoreKey]) async throws -> [T?] {
    try await loadAll(keys) { key, encoded in try coding.decode(type, from: encoded, for: key) }
  }

  func loadAll<T: Sendable>(_ keys: [StoreKey], decode: (StoreKey, EncodedValue) throws -> T) async throws -> [T?] {
    guard !keys.isEmpty else { return [] }
    // The cache is not read: its values may be newer than the entries read here, and so of another state.
    let validTo = cache?.lookUp(keys[0]).validTo
    let entries = try await engine.entries(keys)
    var boxes: [(key: StoreKey, box: any AnyBox)] = []
    var expiries: [StoreKey: Date] = [:]
    let values = try zip(keys, entries).map { key, entry -> T? in
      guard let entry else { return nil }
      let value = try decode(key, EncodedValue(entry))
      boxes.append((key, Box(value)))
      if !entry.attributes.isEmpty { expiries[key] = entry.attributes.expires }
      return value
    }
    if let validTo { cache?.insert(boxes, readAt: validTo, expiries: expiries) }
    return values
  }

  func requireAtomicBatches(count: Int) throws {
    guard count == 1 || engine.capabilities.contains(.atomicBatches) else {
      throw StorageError.unsupported(
        "writing several values at once", advice: "Write them one by one. Nothing was written.",
        location: engine.description)
    }
  }
}
