package import CofferCore
import Dispatch

/// The recipient of the outcome of a batch.
struct BatchWaiter: Sendable {
  let resume: @Sendable (Result<StoreCommit, any Error>) -> Void

  init(_ resume: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void) { self.resume = resume }

  init(_ continuation: CheckedContinuation<StoreCommit, any Error>) { resume = { continuation.resume(with: $0) } }
}

extension Writer {
  /// The longest time that ``submit(_:completion:)`` waits for a commit that another thread performs.
  private static let submissionPatience = DispatchTimeInterval.milliseconds(100)

  /// Commits a batch with `.relaxed` durability for a caller that cannot suspend.
  ///
  /// An idle writer commits on the caller's thread. Otherwise the batch joins the queue, and the caller's thread waits
  /// for its commit, but no longer than 0.1 s.
  func submit(_ batch: PreparedBatch, completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void) {
    do {
      if batch.isSmall, let result = try commitInline(batch) {
        return completion(result)
      }
    } catch {
      return completion(.failure(error))
    }
    let isDone = DispatchSemaphore(value: 0)
    let waiter = BatchWaiter { result in
      completion(result)
      isDone.signal()
    }
    let request = WriteRequest(
      id: 0, kind: .batch(batch, .relaxed, waiter), deadline: deadline(milliseconds: file.busyTimeout))
    if let refusal = submit(request) { return completion(.failure(refusal)) }
    _ = isDone.wait(timeout: .now() + Self.submissionPatience)
  }
}

extension SQLiteEngine: SynchronousEngine {
  package func entryNow(_ key: KeyName) throws -> StoreEntry? {
    let entry = try storedEntry(key)
    return entry?.attributes.isExpired(at: clock.now()) == true ? nil : entry
  }

  package func submit(
    _ batch: WriteBatch, from origin: StoreOrigin,
    completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    let told = events?.emitting(batch, to: self, completion) ?? completion
    do {
      let store = try openStore()
      try batch.check(capabilities, location: store.file.description)
      store.writer.submit(PreparedBatch(batch, origin: origin, at: store.clock.now())) { result in
        if case .success(let commit) = result { store.sweep(at: commit.date, after: batch) }
        told(result)
      }
    } catch {
      told(.failure(error))
    }
  }
}
