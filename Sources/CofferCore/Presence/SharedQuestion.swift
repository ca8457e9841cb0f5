/// A question to the user for whose answer any number of readers wait.
final class SharedQuestion: Sendable {
  private struct State {
    var result: Result<Void, any Error>?
    var readers: [Int: CheckedContinuation<Void, any Error>] = [:]
    var latest = 0
    var onEnd: (@Sendable () -> Void)?
  }

  private let state = Locked(State())

  /// Waits for the answer, or until the task is cancelled.
  func answer() async throws {
    let number = state.withLock { state in
      state.latest += 1
      return state.latest
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Void, any Error>? = state.withLock { state in
          if let result = state.result { return result }
          // The handler below has run already if the task is cancelled here.
          if Task.isCancelled { return .failure(CancellationError()) }
          state.readers[number] = continuation
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      state.withLock { $0.readers.removeValue(forKey: number) }?.resume(throwing: CancellationError())
    }
  }

  /// Calls `body` once the question has ended.
  func onEnd(_ body: @escaping @Sendable () -> Void) {
    let hasEnded = state.withLock { state in
      if state.result == nil { state.onEnd = body }
      return state.result != nil
    }
    if hasEnded { body() }
  }

  /// Ends the question with an answer; only the first one counts.
  func end(_ result: Result<Void, any Error>) {
    let (readers, onEnd) = state.withLock { state in
      guard state.result == nil else {
        return ([Int: CheckedContinuation<Void, any Error>](), nil as (@Sendable () -> Void)?)
      }
      state.result = result
      defer { (state.readers, state.onEnd) = ([:], nil) }
      return (state.readers, state.onEnd)
    }
    for reader in readers.values { reader.resume(with: result) }
    onEnd?()
  }
}
