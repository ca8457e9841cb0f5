package import CofferCore
import CofferLocks

extension EncryptedEngine: SynchronousEngine {
  package func requireSynchronousUse() throws { try synchronousBase().requireSynchronousUse() }

  private func synchronousBase() throws -> any SynchronousEngine {
    guard let base = base as? any SynchronousEngine else {
      throw StorageError.unsupported(
        "reads that do not suspend", advice: "Use reads that suspend.", location: description)
    }
    return base
  }

  package func entryNow(_ key: StoreKey) throws -> StoreEntry? {
    let (base, cipher) = (try synchronousBase(), cipher)
    var isAbsent = true
    do {
      for stored in try cipher.storedKeys(of: key) {
        guard let entry = try base.entryNow(stored) else { continue }
        isAbsent = false
        let opened = try cipher.open(entry, of: key)
        if !cipher.isTransitional || ciphers.isCurrent { return opened }
      }
      if isAbsent, !hidesNames || ciphers.isCurrent { return nil }
    } catch StoreCipher.Failure.unopened(let error) {
      // Only a value that does not open under the present ring is damaged.
      guard !ciphers.isCurrent else { throw error }
    } catch let error as StorageError {
      throw error.renaming { stored in (try? cipher.storedKeys(of: key).contains(stored)) == true ? key : nil }
    }
    Task { _ = try? await ciphers.reload(after: cipher) }
    throw StorageError(
      .busy, "The key ring of the store is being read again.", advice: "Try again.", location: description, key: key)
  }

  package func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    do {
      try check(batch)
      let cipher = cipher
      guard let base = try? synchronousBase(), submissions.isIdle, !batch.mustRead(under: cipher) else {
        return commitLater(batch, from: origin, completion)
      }
      let sealed = try SealedBatch(batch, under: cipher)
      base.submit(sealed.batch, from: origin) { [self] result in
        switch result {
        case .success(let commit): completion(.success(cipher.commit(commit)))
        case .failure(let error as StorageError) where error.code == .preconditionFailed:
          commitLater(batch, from: origin, completion)  // The ring may have changed.
        case .failure(let error as StorageError): completion(.failure(renamed(error, batch, cipher)))
        case .failure(let error): completion(.failure(error))
        }
      }
    } catch {
      completion(.failure(error))
    }
  }

  /// Commits a batch after those that were submitted before it and had to wait.
  private func commitLater(
    _ batch: WriteBatch, from origin: StoreOrigin,
    _ completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    var batch = batch
    batch.durability = .relaxed  // as every submission
    submissions.append { [self, batch] in
      do { completion(.success(try await commit(batch, from: origin))) } catch { completion(.failure(error)) }
    }
  }
}

/// Runs work that has to suspend, in the order in which it is appended.
final class SubmissionQueue: Sendable {
  private struct State {
    var last: Task<Void, Never>?
    var count = 0
  }

  private let state = Locked(State())

  /// Whether all work is done.
  var isIdle: Bool { state.withLock { $0.count == 0 } }

  func append(_ work: @escaping @Sendable () async -> Void) {
    state.withLock { state in
      let earlier = state.last
      state.count += 1
      state.last = Task { [self] in
        await earlier?.value
        await work()
        self.state.withLock { state in
          state.count -= 1
          if state.count == 0 { state.last = nil }
        }
      }
    }
  }
}
