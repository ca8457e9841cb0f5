import CofferCore
import Foundation

/// The end of one run of a policy, a step, a migration or a commit, which any number of tasks await.
package final class SharedOutcome: Sendable {
  private struct Waiter {
    let continuation: CheckedContinuation<Void, any Error>
    let timer: Task<Void, any Error>?

    func resume(with outcome: Result<Void, any Error>) {
      timer?.cancel()
      continuation.resume(with: outcome)
    }
  }

  private struct State {
    var outcome: Result<Void, any Error>?
    var waiters: [UUID: Waiter] = [:]
  }

  private let state = Locked(State())

  package init() {}

  /// Ends the run.
  package func finish(_ outcome: Result<Void, any Error>) {
    let waiters = state.withLock { state in
      state.outcome = outcome
      defer { state.waiters = [:] }
      return state.waiters.values
    }
    for waiter in waiters { waiter.resume(with: outcome) }
  }

  /// Waits for the end of the run.
  /// - Throws: the error of the run; `late` after `limit`; `CancellationError`.
  package func wait(_ limit: Duration, orThrow late: any Error) async throws { try await wait((limit, late)) }

  /// Waits for the end of the run, however long it takes.
  /// - Throws: the error of the run; `CancellationError`.
  package func wait() async throws { try await wait(nil) }

  private func wait(_ deadline: (limit: Duration, late: any Error)?) async throws {
    let id = UUID()
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state -> Result<Void, any Error>? in
          // A cancellation before this point has set the flag; a later one finds the waiter.
          if Task.isCancelled { return .failure(CancellationError()) }
          if let outcome = state.outcome { return outcome }
          let timer = deadline.map { deadline in
            Task {
              try await Task.sleep(for: deadline.limit)
              end(id, deadline.late)
            }
          }
          state.waiters[id] = Waiter(continuation: continuation, timer: timer)
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      end(id, CancellationError())
    }
  }

  private func end(_ id: UUID, _ error: any Error) {
    state.withLock { $0.waiters.removeValue(forKey: id) }?.resume(with: .failure(error))
  }
}
