/// One result, which any number of tasks await. Of several results, the first one counts.
///
/// ```swift
/// let opened = Promise<Int32>()
/// Task { opened.end(.success(7)) }
/// let descriptor = try await opened.value()
/// ```
package final class Promise<Success: Sendable>: Sendable {
  private struct State {
    var result: Result<Success, any Error>?
    var waiting = FairQueue<Success>()
  }

  private let state = Locked(State())

  package init() {}

  /// The result, once there is one.
  package var result: Result<Success, any Error>? { state.withLock { $0.result } }

  /// Gives the result to all who wait for it, now or later.
  /// - Returns: Whether this is the first result.
  @discardableResult
  package func end(_ result: Result<Success, any Error>) -> Bool {
    let waiting = state.withLock { state -> [FairQueue<Success>.Waiter]? in
      guard state.result == nil else { return nil }
      state.result = result
      return state.waiting.takeAll()
    }
    for waiter in waiting ?? [] { waiter.resume(with: result) }
    return waiting != nil
  }

  /// Waits for the result.
  /// - Throws: the error of the result; `CancellationError`.
  package func value() async throws -> Success {
    if let result { return try result.get() }
    return try await state.wait(in: \.waiting) { try $0.result?.get() }
  }

  /// Waits for the result for at most a time.
  /// - Throws: the error of the result; `late` after `limit`; `CancellationError`.
  package func value(within limit: Duration, orThrow late: any Error) async throws -> Success {
    if let result { return try result.get() }
    return try await withDeadline(limit, orThrow: late) { try await self.value() }
  }
}

/// Returns the result of `body`, or throws an error when a time has passed (`nil`: no limit).
///
/// Does not wait for `body` any longer then, nor when the current task is cancelled: its task is cancelled and its
/// result discarded. A task group would have to wait for it.
package func withDeadline<R: Sendable>(
  _ limit: Duration?, orThrow late: any Error, _ body: @escaping @Sendable () async throws -> R
) async throws -> R {
  let promise = Promise<R>()
  let work = Task {
    do { promise.end(.success(try await body())) } catch { promise.end(.failure(error)) }
  }
  let timer = limit.map { limit in
    Task {
      try await Task.sleep(for: limit)
      promise.end(.failure(late))
    }
  }
  defer {
    work.cancel()
    timer?.cancel()
  }
  return try await promise.value()
}
