import CofferCore

/// An expectation that did not hold. The suite converts it to a ``StorageConformance/Failure`` with the name of the
/// check.
struct Unmet: Error {
  let sentence: String
  let file: String
  let line: UInt
}

/// An error that ends a check that turns out not to apply.
struct Skip: Error {
  let reason: String
}

/// Runs `body` for at most `limit`, then cancels and abandons it. A task group would have to wait for it.
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

/// A race between several results, of which only the first is kept.
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
