import Coffer

extension StorageRouter {
  /// The router of ``Stored`` properties that are not given one: ``shared``, unless a task-local value is set.
  @TaskLocal public static var current = StorageRouter.shared

  /// Hands a value to its store with `.relaxed` durability before it returns, and returns the outcome of its commit.
  /// Returns `nil` if the store is not open yet or cannot accept it without suspending, and for a value that
  /// ``set(_:for:)`` would refuse.
  nonisolated func submit<K: StorageKey>(_ value: K.Value, for key: K) -> Promise<Void>? {
    guard let resolved = known(key.declaration) ?? known(key, ObjectIdentifier(K.Value.self)),
      resolved.record.schema == nil, !resolved.record.descriptor.isEncrypted, resolved.store.pending == nil,
      let engine = resolved.store.engine as? any SynchronousEngine, (try? engine.requireSynchronousUse()) != nil,
      let encoded = try? DeclaredValue(self, key, resolved).encode(value)
    else { return nil }
    let outcome = Promise<Void>()
    let batch = WriteBatch([.put(resolved.key, encoded.data, encoded.attributes)], durability: .relaxed)
    engine.submit(batch, from: resolved.store.origin) { result in
      outcome.end(
        result.map { commit in
          let box = Box(value, size: encoded.data.count)
          resolved.store.cached(commit, [(resolved.key, box)], batch, resolved.traits)
        })
    }
    return outcome
  }
}
