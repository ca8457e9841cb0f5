import Coffer

extension StorageRouter {
  /// The values of several keys, read from one state of their store.
  ///
  /// ```swift
  /// let state = try await router.state(of: [.quietFrom, .quietUntil])
  /// let night = try Night(from: state.get(.quietFrom), until: state.get(.quietUntil))
  /// ```
  public struct State: Sendable {
    fileprivate var found: [KeyName: (resolved: StorageRouter.ResolvedKey, encoded: EncodedValue?)] = [:]

    /// Returns the value of a key, or its default if there was none.
    /// - Throws: `StorageError`: `notFound` when there is neither; `decodingFailed` when the stored bytes are not a
    ///   value of the key's type; `unregisteredKey` for a key that is not part of the state.
    public func get<K: StorageKey>(_ key: K) throws -> K.Value {
      let name = try KeyName(key.name)
      guard let (resolved, encoded) = found[name], resolved.record.valueType == ObjectIdentifier(K.Value.self) else {
        throw StorageError(
          .unregisteredKey, "The key is not part of this state.",
          advice: "Pass it to state(of:), together with the others.", key: name)
      }
      if let encoded { return try resolved.coder(of: key).value(from: encoded, of: resolved) }
      if let value = key.defaultValue { return value }
      throw StorageError.absent(resolved)
    }
  }
}

extension StorageRouter {
  /// Reads several keys from one state of their store, if its engine has snapshots, as all engines of this package do.
  /// The state includes every concurrent batch as a whole or not at all.
  /// - Parameter keys: keys of one store.
  /// - Throws: `notAtomic` when the keys are in several stores, which have no common snapshot; `StorageError` when the
  ///   values cannot be read.
  public nonisolated func state(of keys: [any StorageKey]) async throws -> StorageRouter.State {
    let advice = "Read the keys of each store separately, or give the keys one domain."
    let resolved = try await inOneStore(keys.count, \.self, advice) { try await resolve(keys[$0]) }
    var state = StorageRouter.State()
    guard let store = resolved.first?.store else { return state }
    try await store.flush()
    let entries = try await store.reading {
      let entries = try await store.engine.entries(resolved.map(\.key))
      for (resolved, entry) in zip(resolved, entries) {
        if let entry { try resolved.requirePresent(entry.attributes) }
      }
      return entries
    } damaged: { error in
      for (key, resolved) in zip(keys, resolved) where resolved.key == error.key {
        return try await handle(error, of: key, resolved)
      }
      throw error
    }
    for (resolved, entry) in zip(resolved, entries) {
      state.found[resolved.key] = (resolved, entry.map { EncodedValue($0) })
    }
    return state
  }
}
