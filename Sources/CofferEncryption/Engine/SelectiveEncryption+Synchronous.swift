package import CofferCore
import CofferLocks

/// Settings with plain values beside encrypted ones.
extension SelectiveEncryption: SynchronousEngine {
  /// Submitted batches that are committed again, one after the other.
  struct Resubmissions {
    var last: Task<Void, Never>?
    var count = 0
  }

  private func synchronousPlain() throws -> any SynchronousEngine {
    guard opened?.encryptsAll != true, let plain = plain as? any SynchronousEngine else { throw refusal(nil) }
    return plain
  }

  private func refusal(_ key: StoreKey?) -> StorageError {
    StorageError(
      .unsupported, "An encrypted value cannot be read or written without suspending.",
      advice: "Use reads and writes that suspend.", location: description, key: key)
  }

  package func requireSynchronousUse() throws { try synchronousPlain().requireSynchronousUse() }

  package func entryNow(_ key: StoreKey) throws -> StoreEntry? {
    let entry = try synchronousPlain().entryNow(key)
    guard !isEncrypted(key), entry?.attributes.isSealed != true else { throw refusal(key) }
    return entry
  }

  package func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    do {
      guard !encrypts(batch) else { throw refusal(nil) }
      let plain = try synchronousPlain()
      // None overtakes one that is committed again.
      guard !resubmit(batch, from: origin, onlyAfterOthers: true, completion: completion) else { return }
      let known = precondition
      plain.submit(batch.requiring(known), from: origin) { [self] result in
        if case .success = result { noteCommit() }
        if case .failure(let error as StorageError) = result, error.code == .preconditionFailed, !known.isEmpty {
          resubmit(batch, from: origin, completion: completion)
        } else {
          completion(result)
        }
      }
    } catch {
      completion(.failure(error))
    }
  }

  /// Commits a batch again after the batches submitted before, under what the key ring says by then.
  /// - Parameter onlyAfterOthers: whether to do so only if other batches are waiting.
  /// - Returns: whether the batch was accepted.
  @discardableResult
  private func resubmit(
    _ batch: WriteBatch, from origin: StoreOrigin, onlyAfterOthers: Bool = false,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) -> Bool {
    resubmitted.withLock { waiting in
      guard waiting.count > 0 || !onlyAfterOthers else { return false }
      waiting.count += 1
      waiting.last = Task { [self, last = waiting.last] in
        await last?.value
        let result: Result<StoreCommit, any Error>
        do { result = .success(try await commit(batch, from: origin)) } catch { result = .failure(error) }
        resubmitted.withLock { waiting in
          waiting.count -= 1
          if waiting.count == 0 { waiting.last = nil }
        }
        completion(result)
      }
      return true
    }
  }
}

extension WriteBatch {
  /// Returns the batch with a precondition; one that changes nothing stays as it is.
  func requiring(_ precondition: [Operation]) -> WriteBatch {
    guard !precondition.isEmpty, !operations.isEmpty else { return self }
    var batch = WriteBatch(precondition + operations, transaction: transaction, durability: durability)
    batch.keepsForms = keepsForms
    return batch
  }
}
