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
    _ items: [(KeyName, T)], durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    try await batch(durability: durability, transaction: transaction) { batch in
      for (key, value) in items { try batch.save(value, for: key) }
    }
  }

  /// Removes several values in one commit. Removing missing values is not an error.
  /// - Throws: `StorageError`: `unsupported` when there are several and the engine has no atomic batches.
  public func deleteAll(
    _ keys: [KeyName], durability: StoreDurability = .full, transaction: TransactionID? = nil
  ) async throws {
    try await batch(durability: durability, transaction: transaction) { batch in
      for key in keys { batch.delete(key) }
    }
  }

  /// Returns the values of several keys in the same order, all of one state where the engine has snapshots. Cached
  /// values are not read again.
  /// - Throws: `StorageError`: `decodingFailed` when the bytes of one of them are not a `T`.
  public func loadAll<T: Decodable & Sendable>(_ type: T.Type, keys: [KeyName]) async throws -> [T?] {
    try await reading {
      try await loadAll(keys) { key, encoded in try coding.decode(type, from: encoded, for: key) }
    } damaged: { error in
      guard let key = error.key, keys.contains(key) else { throw error }
      try await CodedValue<T>(store: self, key: key).handle(error)
    }
  }

  package func loadAll<T: Sendable>(_ keys: [KeyName], decode: (KeyName, EncodedValue) throws -> T) async throws
    -> [T?]
  {
    if let pending {
      let values = pending.values(of: keys)
      if values.allSatisfy({ $0 != nil }) {
        return try zip(keys, values).map { key, value in
          try Self.unbox(value?.box) ?? value?.encoded.map { try decode(key, $0) }
        }
      }
      // Only what is committed can be combined with other values to one state.
      if values.contains(where: { $0 != nil }) { try await pending.flush(keys) }
    }
    let cached = cache?.lookUp(keys)
    var values: [T?] = cached?.boxes.map { Self.unbox($0) } ?? Array(repeating: nil, count: keys.count)
    let missing = values.indices.filter { values[$0] == nil }
    guard !missing.isEmpty else { return values }
    let read = try await entries(keys, missing: missing, from: cached?.validTo)
    var boxes: [DecodedCache.Item] = []
    for (index, entry) in read {
      values[index] = try entry.map { entry in
        let value = try decode(keys[index], EncodedValue(entry))
        if !entry.attributes.askUser {
          boxes.append((keys[index], Box(value, size: entry.value.count), entry.attributes.expires))
        }
        return value
      }
    }
    if let cached { cache?.insert(boxes, readAt: cached.validTo) }
    return values
  }

  /// Returns the entries of those keys that are not cached, or of all keys if the cached values are of another state.
  private func entries(
    _ keys: [KeyName], missing: [Int], from validTo: StoreRevision?
  ) async throws -> [(index: Int, entry: StoreEntry?)] {
    let all = Array(keys.indices)
    guard missing.count < all.count, engine.capabilities.contains(.snapshots) else {
      return Array(zip(all, try await engine.entries(keys)))
    }
    return try await engine.withSnapshot { snapshot in
      let needed = snapshot.revision == validTo ? missing : all
      return Array(zip(needed, try await snapshot.entries(needed.map { keys[$0] })))
    }
  }
}
