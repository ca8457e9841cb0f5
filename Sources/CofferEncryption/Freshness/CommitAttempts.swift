import CofferCore

/// The attempts of a commit that other processes may precede, with the pauses between them.
struct CommitAttempts {
  private let location: String
  private let deadline: ContinuousClock.Instant
  private var pause = Duration.microseconds(100)

  /// - Parameters:
  ///   - location: the store in the error.
  ///   - patience: the time until the last attempt.
  init(at location: String, patience: Duration = .seconds(30)) {
    self.location = location
    deadline = ContinuousClock.now + patience
  }

  /// Waits before the next attempt. During a turn, other commits of the process wait as well.
  /// - Throws: `busy` if there was time for enough of them; `CancellationError`.
  mutating func wait() async throws {
    guard ContinuousClock.now < deadline else {
      throw StorageError(
        .busy, "Other processes keep writing the store, whose values are covered by one record.",
        advice: "Nothing was written. Try again.", location: location)
    }
    // Processes that wait equally long would meet again.
    try await Task.sleep(for: pause * Double.random(in: 0...1))
    pause = min(pause * 2, .milliseconds(20))
  }
}
