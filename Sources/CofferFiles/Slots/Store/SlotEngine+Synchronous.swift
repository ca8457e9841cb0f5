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
    let entry: StoreEntry? =
      switch core {
      case let store as SlotStore: try store.entryNow(key)
      case let store as ReadOnlySlotStore: try store.entryNow(key)
      default: throw StorageError.closed(description)
      }
    return entry?.present(at: clock.now())
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
    try records.requireWritable()
    switch try handle.find(key, records) {
    case .entry(let entry): return entry
    case .absent: return nil
    case .damaged(let recorded, let content): throw quarantine.report(key, recorded, content)
    case .lost(let recorded): throw quarantine.reportLoss(key, recorded)
    case .differs, .unrecorded:
      // Recording the edit of another program suspends; it becomes a commit, after which the value can be read.
      Task { try? await reconciler.reconcile([key]) }
      throw StorageError(
        .busy, "Another program has edited the value, and the edit is being recorded.",
        advice: "Read it again, or use get of the router, which waits.", location: description, key: key)
    }
  }
}
