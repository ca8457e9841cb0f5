extension StorageRouter {
  /// The router of ``Stored`` properties that are not given one: ``shared``, unless a task-local value is set.
  @TaskLocal public static var current = StorageRouter.shared

  /// An edit that was handed to its store. The stream ends when the edit is committed, and throws if it fails.
  struct Submission: Sendable {
    fileprivate let outcome: AsyncThrowingStream<Never, any Error>
  }

  /// Hands a value to its store with `.relaxed` durability before it returns. Returns `nil` if the store is not open
  /// yet or cannot accept it without suspending, and for a value that ``set(_:for:)`` would refuse.
  nonisolated func submit<K: StorageKey>(_ value: K.Value, for key: K) -> Submission? {
    guard let resolved = known(key.declaration) ?? known(key, ObjectIdentifier(K.Value.self)),
      resolved.record.schema == nil, !resolved.record.descriptor.isEncrypted, resolved.store.pending == nil,
      let engine = resolved.store.engine as? any SynchronousEngine, (try? engine.requireSynchronousUse()) != nil,
      let encoded = try? DeclaredValue(self, key, resolved).encode(value)
    else { return nil }
    let (stream, outcome) = AsyncThrowingStream.makeStream(of: Never.self)
    let batch = WriteBatch([.put(resolved.key, encoded.data, encoded.attributes)], durability: .relaxed)
    engine.submit(batch, from: resolved.store.origin) { result in
      switch result {
      case .success(let commit):
        resolved.store.cached(
          commit, [(resolved.key, Box(value, size: encoded.data.count))], batch, resolved.traits)
        outcome.finish()
      case .failure(let error): outcome.finish(throwing: error)
      }
    }
    return Submission(outcome: stream)
  }

  /// Waits until a submission is committed.
  nonisolated func finish(_ submission: Submission) async throws {
    for try await _ in submission.outcome {}
  }
}
