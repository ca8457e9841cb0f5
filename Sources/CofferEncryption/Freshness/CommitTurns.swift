import CofferLocks

/// Lets callers through one at a time, in the order of their calls.
final class CommitTurns: Sendable {
  private struct Waiting {
    let number: UInt64
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var latest: UInt64 = 0
    var isTaken = false
    var waiting: [Waiting] = []
  }

  private let state = Locked(State())

  /// Calls `body` when nobody else's is running.
  /// - Throws: `CancellationError` if the task is cancelled before; what `body` throws.
  func run<R>(_ body: () async throws -> R) async throws -> R {
    try await begin()
    defer { end() }
    return try await body()
  }

  private func begin() async throws {
    let number = state.withLock { state in
      state.latest += 1
      return state.latest
    }
    let isMine = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isMine: Bool? = state.withLock { state in
          // A cancellation before this finds nobody waiting.
          guard !Task.isCancelled else { return false }
          guard state.isTaken else {
            state.isTaken = true
            return true
          }
          state.waiting.append(Waiting(number: number, continuation: continuation))
          return nil
        }
        if let isMine { continuation.resume(returning: isMine) }
      }
    } onCancel: {
      let cancelled = state.withLock { state in
        state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
      }
      cancelled?.continuation.resume(returning: false)
    }
    guard isMine else { throw CancellationError() }
  }

  private func end() {
    let next = state.withLock { state -> Waiting? in
      guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
      state.isTaken = false
      return nil
    }
    next?.continuation.resume(returning: true)
  }
}
