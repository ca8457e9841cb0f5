import CofferCore
import Foundation

/// Work on the writer's thread other than committing batches.
extension Writer {
  /// Runs a closure in a separate transaction on the writer's thread.
  /// - Returns: its result, and the commit if it has changed anything.
  func transact<R: Sendable>(
    _ header: TransactionHeader, _ body: @escaping @Sendable (SQLiteDatabase.Transaction) throws -> R
  ) async throws -> (R, StoreCommit?) {
    try Task.checkCancellation()
    return try await enqueue { (continuation: CheckedContinuation<(R, StoreCommit?), any Error>) in
      .work(
        run: { [self] committer in
          do {
            let (value, commit) = try committer.transact(header, body)
            if let commit { raise(commit.revision) }
            noteDurable(committer)
            continuation.resume(returning: (value, commit))
            return WorkOutcome(commit: commit)
          } catch {
            continuation.resume(throwing: error)
            return WorkOutcome(error: error)
          }
        }, refuse: { continuation.resume(throwing: $0) })
    }
  }

  /// Makes every earlier relaxed commit survive power loss.
  func flush() async throws { try await perform { try $0.sync() } }

  /// Runs a closure with the committer on the writer's thread.
  func perform<R: Sendable>(_ body: @escaping @Sendable (GroupCommitter) throws -> R) async throws -> R {
    try await enqueue { (continuation: CheckedContinuation<R, any Error>) in
      .work(
        run: { committer in
          do {
            continuation.resume(returning: try body(committer))
            return WorkOutcome()
          } catch {
            continuation.resume(throwing: error)
            return WorkOutcome(error: error)
          }
        }, refuse: { continuation.resume(throwing: $0) })
    }
  }

  /// Runs a closure with the committer on the writer's thread, blocking the calling thread until it returns.
  func performBlocking(_ body: @escaping @Sendable (GroupCommitter) throws -> Void) throws {
    let isDone = DispatchSemaphore(value: 0)
    let result = Locked<Result<Void, any Error>>(.success(()))
    let run: @Sendable (GroupCommitter) -> WorkOutcome = { committer in
      defer { isDone.signal() }
      do {
        try body(committer)
        return WorkOutcome()
      } catch {
        result.withLock { $0 = .failure(error) }
        return WorkOutcome(error: error)
      }
    }
    let refuse: @Sendable (any Error) -> Void = { error in
      result.withLock { $0 = .failure(error) }
      isDone.signal()
    }
    let request = WriteRequest(
      id: 0, kind: .work(run: run, refuse: refuse), deadline: deadline(milliseconds: file.busyTimeout))
    if let refusal = submit(request) { throw refusal }
    isDone.wait()
    try result.withLock { $0 }.get()
  }

  /// Gives up the cached pages of the connection, if it was ever opened.
  func releaseMemory() async {
    guard queue.withLock({ $0.hasStarted }) else { return }
    try? await perform { $0.connection.releaseMemory() }
  }

  private static let housekeepingPatience = 100

  /// Schedules housekeeping. An error is ignored, since a later run makes up for it.
  /// - Parameter failed: called if it could not be done.
  func housekeep(
    failed: @escaping @Sendable () -> Void = {}, _ body: @escaping @Sendable (GroupCommitter) throws -> Void
  ) {
    workInBackground(failed: failed) {
      try body($0)
      return WorkOutcome()
    }
  }

  /// Schedules work for which nobody waits.
  func workInBackground(
    failed: @escaping @Sendable () -> Void = {}, _ body: @escaping @Sendable (GroupCommitter) throws -> WorkOutcome
  ) {
    let run: @Sendable (GroupCommitter) -> WorkOutcome = { committer in
      do { return try body(committer) } catch {
        failed()
        return WorkOutcome(error: error)
      }
    }
    // It waits for the lock only briefly, since it delays callers.
    let limit = deadline(milliseconds: Self.housekeepingPatience)
    let request = WriteRequest(id: 0, kind: .work(run: run, refuse: { _ in failed() }), deadline: limit)
    _ = submit(request)
  }

  /// Returns once all previously accepted requests are finished.
  func drain() async {
    guard queue.withLock({ $0.isBusy }) else { return }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      let run: @Sendable (GroupCommitter) -> WorkOutcome = { _ in
        continuation.resume()
        return WorkOutcome()
      }
      let request = WriteRequest(id: 0, kind: .work(run: run, refuse: { _ in continuation.resume() }))
      if let refusal = submit(request) { request.refuse(refusal) }
    }
  }
}
