/// A question to the user for whose answer any number of readers wait.
final class SharedQuestion: Sendable {
  private let promise = Promise<Void>()
  private let handler = Locked<(@Sendable () -> Void)?>(nil)

  /// Waits for the answer, or until the task is cancelled.
  func answer() async throws { try await promise.value() }

  /// Calls `body` once the question has ended.
  func onEnd(_ body: @escaping @Sendable () -> Void) {
    handler.withLock { $0 = body }
    if promise.result != nil { callHandler() }
  }

  /// Ends the question with an answer; only the first one counts.
  func end(_ result: Result<Void, any Error>) { if promise.end(result) { callHandler() } }

  private func callHandler() { handler.withLock { $0.take() }?() }
}
