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
    do {
      var entry: StoreEntry?
      // The former key first: a value that is moved between two reads is found under the one where it belongs.
      for stored in try cipher.storedKeys(of: key).reversed() { entry = try base.entryNow(stored) ?? entry }
      let opened = try entry.map { try cipher.open($0, of: key) }
      let isCertain = opened == nil ? !hidesNames : !cipher.isTransitional
      if isCertain || ciphers.isCurrent(cipher) { return opened }
    } catch StoreCipher.Failure.unopened(let error) {
      // Only a value that does not open under the present ring is damaged.
      guard !ciphers.isCurrent(cipher) else { throw error }
    } catch let error as StorageError {
      throw error.renaming { stored in (try? cipher.storedKeys(of: key).contains(stored)) == true ? key : nil }
    }
    Task { _ = try? await ciphers.reload(after: cipher) }
    throw ciphers.failure
      ?? StorageError(
        .busy, "The key ring of the store is being read again.", advice: "Try again.", location: description, key: key)
  }

  package func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    do {
      try check(batch)
      let cipher = cipher
      guard let base = try? synchronousBase(), !batch.mustRead(under: cipher) else {
        return submissions.append(batch, from: origin, to: self, completion)
      }
      var sealed = try SealedBatch(forms.completing(batch), under: cipher).batch
      sealed.keepsForms = true
      guard let number = submissions.begin(under: cipher) else {
        return submissions.append(batch, from: origin, to: self, completion)
      }
      base.submit(sealed, from: origin) { [self] result in
        switch result {
        case .failure(let error as StorageError) where error.code == .preconditionFailed:
          // The ring may have changed; otherwise the error is the batch's own.
          let failure = SubmissionQueue.Failure(number: number, error: renamed(error, batch, cipher))
          submissions.append(batch, from: origin, to: self, refused: failure, completion)
        case .success(let commit):
          // Before a close that waits for it updates the anchor.
          freshness?.noteCommit(cipher.ring.generation)
          submissions.end(number, isCommitted: true, on: self)
          completion(.success(cipher.commit(commit, of: batch)))
        case .failure(let error):
          submissions.end(number, isCommitted: false, on: self)
          completion(.failure((error as? StorageError).map { renamed($0, batch, cipher) } ?? error))
        }
      }
    } catch {
      completion(.failure(error))
    }
  }
}
