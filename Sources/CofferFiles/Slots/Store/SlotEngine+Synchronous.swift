package import CofferCore
import CofferSQLite

extension SlotEngine: SynchronousEngine {
  package func requireSynchronousUse() throws {
    // All stores of secrets can be unavailable; a store of files or preferences is read in milliseconds at most.
    guard !slots.keepsSecrets else {
      throw StorageError.unsupported(
        "reads that do not suspend", advice: "It holds secrets and can be locked: use get and set of the router.",
        location: description)
    }
  }

  package func entryNow(_ key: KeyName) throws -> StoreEntry? {
    try core.entryNow(key)?.present(at: clock.now())
  }

  /// Commits in the background, after the batches submitted before: publishing a value requires several syncs.
  package func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    submitted.withLock { last in
      last = Task { [self, last] in
        await last?.value
        do { completion(.success(try await commit(batch, from: origin))) } catch { completion(.failure(error)) }
      }
    }
  }
}

extension SlotStore {
  fileprivate func entryNow(_ key: KeyName) throws -> StoreEntry? {
    try requireOpen()
    guard let writer else { return try entry(findUnrecorded(key), of: key) }
    switch try find(key) {
    case .differs, .unrecorded:
      // Recording the edit of another program suspends; it becomes a commit, after which the value can be read.
      Task { [reconciler = writer.reconciler] in try? await reconciler.reconcile([key]) }
      throw StorageError(
        .busy, "Another program has edited the value, and the edit is being recorded.",
        advice: "Read it again, or use get of the router, which waits.", location: description, key: key)
    case let finding: return try entry(finding, of: key)
    }
  }
}
