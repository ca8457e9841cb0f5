import CofferCore
import CofferLocks

/// The order of the batches that callers have submitted without waiting: it is the order of their commits.
///
/// A batch goes to the store directly while none before it waits, and all that the store still has were sealed under
/// the same state of the key ring. If another process changes the ring, the store refuses each of these. They wait here
/// then, with what is submitted meanwhile, and are sealed again one after the other. Commits that are waited for,
/// flushing and closing follow what was submitted before them.
final class SubmissionQueue: Sendable {
  /// The refusal of a batch that was sent directly.
  struct Failure: Sendable {
    /// The number of the submission.
    let number: UInt64
    let error: StorageError
  }

  private struct Submission {
    let number: UInt64
    let batch: WriteBatch
    let origin: StoreOrigin
    let failure: Failure?
    let completion: @Sendable (Result<StoreCommit, any Error>) -> Void
  }

  /// A caller that waits for the submissions up to a number.
  private struct Waiter {
    let number: UInt64
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var latest: UInt64 = 0
    /// The batches that the store has, and the state of the ring under which they were sealed.
    var inFlight: Set<UInt64> = []
    var cipher: StoreCipher?
    /// The newest of the batches sent directly that was committed.
    var newestCommitted: UInt64 = 0
    /// What waits, in the order of the numbers.
    var waiting: [Submission] = []
    /// The first of them, which is being committed.
    var working: UInt64?
    var waiters: [UInt64: Waiter] = [:]
    var latestWaiter: UInt64 = 0

    /// Whether a batch that is sealed under `cipher` can be sent directly: what the store has is committed before it,
    /// or refused with it.
    func isFree(for cipher: StoreCipher?) -> Bool {
      working == nil && waiting.isEmpty && (inFlight.isEmpty || self.cipher === cipher)
    }

    /// Resumes the callers that wait for nothing any more.
    mutating func resumeWaiters() {
      guard !waiters.isEmpty else { return }
      let oldest = [inFlight.min(), working, waiting.first?.number].compactMap { $0 }.min() ?? .max
      for (id, waiter) in waiters where waiter.number < oldest {
        waiters[id] = nil
        waiter.continuation.resume()
      }
    }

    mutating func number() -> UInt64 {
      latest += 1
      return latest
    }
  }

  private let state = Locked(State())

  /// Returns the number of a batch that is to be sent directly; `nil` if it has to wait.
  func begin(under cipher: StoreCipher) -> UInt64? {
    state.withLock { state in
      guard state.isFree(for: cipher) else { return nil }
      let number = state.number()
      state.inFlight.insert(number)
      state.cipher = cipher
      return number
    }
  }

  /// Notes that a batch that was sent directly was committed, or will never be.
  func end(_ number: UInt64, isCommitted: Bool, on engine: EncryptedEngine) {
    state.withLock { state in
      state.inFlight.remove(number)
      if isCommitted { state.newestCommitted = max(state.newestCommitted, number) }
      work(&state, on: engine)
      state.resumeWaiters()
    }
  }

  /// Waits for what was submitted before this call. Returns at once if a batch that is sealed under `cipher` cannot
  /// overtake any of it.
  /// - Throws: `CancellationError`.
  func finishEarlier(than cipher: StoreCipher?) async throws {
    let waiter: (id: UInt64, number: UInt64)? = state.withLock { state in
      guard !state.isFree(for: cipher) else { return nil }
      state.latestWaiter += 1
      return (state.latestWaiter, state.latest)
    }
    guard let waiter else { return }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        state.withLock { state in
          guard !Task.isCancelled else { return continuation.resume(throwing: CancellationError()) }
          state.waiters[waiter.id] = Waiter(number: waiter.number, continuation: continuation)
          state.resumeWaiters()
        }
      }
    } onCancel: {
      let waiter = state.withLock { $0.waiters.removeValue(forKey: waiter.id) }
      waiter?.continuation.resume(throwing: CancellationError())
    }
  }

  /// Waits for everything that was submitted before this call, also in a task that is cancelled.
  func finish() async { try? await Task { try await finishEarlier(than: nil) }.value }

  /// Commits a batch after those that were submitted before it.
  /// - Parameter failure: the refusal of the batch, if it was sent directly.
  func append(
    _ batch: WriteBatch, from origin: StoreOrigin, to engine: EncryptedEngine, refused failure: Failure? = nil,
    _ completion: @escaping @Sendable (Result<StoreCommit, any Error>) -> Void
  ) {
    var batch = batch
    batch.durability = .relaxed  // as every submission
    state.withLock { state in
      if let failure { state.inFlight.remove(failure.number) }
      let number = failure?.number ?? state.number()
      let index = state.waiting.firstIndex { $0.number > number } ?? state.waiting.endIndex
      let submission = Submission(
        number: number, batch: batch, origin: origin, failure: failure, completion: completion)
      state.waiting.insert(submission, at: index)
      work(&state, on: engine)
    }
  }

  /// Begins to commit what waits, once the store has nothing that was submitted before it.
  private func work(_ state: inout State, on engine: EncryptedEngine) {
    guard state.working == nil, state.inFlight.isEmpty, let first = state.waiting.first else { return }
    state.working = first.number
    Task {
      while let submission = next() {
        do {
          let commit = try await engine.commit(submission.batch, from: submission.origin, isSubmitted: true)
          submission.completion(.success(commit))
        } catch {
          submission.completion(.failure(error))
        }
      }
    }
  }

  private func next() -> Submission? {
    while true {
      let (first, isRefused) = state.withLock { state -> (Submission?, Bool) in
        let first = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
        state.working = first?.number
        state.resumeWaiters()
        guard let first else { return (nil, false) }
        // A later batch was committed under the same ring: the refusal had another reason, and may not be undone.
        return (first, first.failure != nil && state.newestCommitted > first.number)
      }
      guard let first, isRefused, let failure = first.failure else { return first }
      first.completion(.failure(failure.error))
    }
  }
}
