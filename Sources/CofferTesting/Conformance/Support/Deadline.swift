import CofferCore
import CofferLocks

/// An expectation that did not hold; the runner adds the check's name.
struct Unmet: Error {
  let sentence: String
  let file: String
  let line: UInt
}

/// Ends a check that turns out not to apply.
struct Skip: Error {
  let reason: String
}

/// Runs `body`, but no longer than `limit`. It is then cancelled and left behind: a task group would wait for it.
func withDeadline<R: Sendable>(
  _ limit: Duration, _ what: String, file: String = #fileID, line: UInt = #line,
  _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  let race = Race<R>()
  let work = Task {
    do { race.finish(.success(try await body())) } catch { race.finish(.failure(error)) }
  }
  let timer = Task {
    try await Task.sleep(for: limit)
    race.finish(.failure(Unmet(sentence: "Expected \(what) within \(limit); it did not.", file: file, line: line)))
  }
  defer {
    work.cancel()
    timer.cancel()
  }
  return try await withTaskCancellationHandler {
    try await race.value()
  } onCancel: {
    race.finish(.failure(CancellationError()))
  }
}

/// Takes the first of several results.
private final class Race<R: Sendable>: Sendable {
  private struct State {
    var result: Result<R, any Error>?
    var waiter: CheckedContinuation<R, any Error>?
  }

  private let state = Locked(State())

  func finish(_ result: Result<R, any Error>) {
    let waiter = state.withLock { state -> CheckedContinuation<R, any Error>? in
      guard state.result == nil else { return nil }
      state.result = result
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(with: result)
  }

  func value() async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      let result = state.withLock { state -> Result<R, any Error>? in
        if state.result == nil { state.waiter = continuation }
        return state.result
      }
      if let result { continuation.resume(with: result) }
    }
  }
}
