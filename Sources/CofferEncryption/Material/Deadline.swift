import CofferCore

/// Returns the result of `body`, or throws an error when a time has passed (`nil`: no limit).
///
/// Does not wait for `body` any longer then, nor when the current task is cancelled: its task is cancelled and its
/// result discarded.
func withDeadline<R: Sendable>(
  after timeout: Duration?, throwing late: any Error, _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  let race = Race<R>()
  let task = Task { race.end(await Result(catching: body)) }
  let timer = timeout.map { timeout in
    Task {
      try? await Task.sleep(for: timeout)
      if !Task.isCancelled { race.end(.failure(late)) }
    }
  }
  defer {
    task.cancel()
    timer?.cancel()
  }
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { race.begin($0) }
  } onCancel: {
    race.end(.failure(CancellationError()))
  }
}

/// The first of several results, for one waiting task.
private final class Race<R: Sendable>: Sendable {
  private enum State {
    case waiting(CheckedContinuation<R, any Error>?)
    case ended(Result<R, any Error>)
  }

  private let state = Locked(State.waiting(nil))

  /// Passes the result to a continuation, now or later.
  func begin(_ continuation: CheckedContinuation<R, any Error>) {
    let result: Result<R, any Error>? = state.withLock { state in
      if case .ended(let result) = state { return result }
      state = .waiting(continuation)
      return nil
    }
    if let result { continuation.resume(with: result) }
  }

  /// Ends the race with a result, unless it has ended already.
  func end(_ result: Result<R, any Error>) {
    let continuation: CheckedContinuation<R, any Error>? = state.withLock { state in
      guard case .waiting(let continuation) = state else { return nil }
      state = .ended(result)
      return continuation
    }
    continuation?.resume(with: result)
  }
}

extension Result where Failure == any Error {
  fileprivate init(catching body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
