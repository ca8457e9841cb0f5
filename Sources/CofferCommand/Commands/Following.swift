import Coffer
import CofferTerminal

/// How far a run is, in values.
struct FollowedProgress: Sendable {
  let completed: Int
  let total: Int
}

/// A run that a command waits for.
protocol FollowedRun: Sendable {
  associatedtype State: Sendable
  associatedtype Report: Sendable

  /// The states, until the end.
  var updates: AsyncStream<State> { get }
  static func progress(of state: State) -> FollowedProgress
  /// Waits for the end.
  func result() async throws -> Report
  func cancel()
}

/// The wait of a command for a run, with a bar on a terminal. SIGINT and SIGTERM end the run after the present commit.
struct Following: Sendable {
  /// What the bar says is being done.
  let label: String
  /// What is true after an interruption, and how to continue.
  let advice: String
  let store: String

  /// Returns the report of the run and the time that it took.
  /// - Throws: `CommandError` after an interruption; the error of the run.
  func end<R: FollowedRun>(of run: R) async throws -> (R.Report, Duration) {
    try await interruptible {
      try await withTaskCancellationHandler {
        try await wait(for: run)
      } onCancel: {
        run.cancel()
      }
    }
  }

  private func wait<R: FollowedRun>(for run: R) async throws -> (R.Report, Duration) {
    let line = RotationLine(label)
    defer { line.clear() }
    var last = FollowedProgress(completed: 0, total: 0)
    for await state in run.updates {
      let progress = R.progress(of: state)
      line.update(values: progress.completed, of: progress.total)
      last = progress
    }
    do {
      return (try await run.result(), line.elapsed)
    } catch is CancellationError {
      throw CommandError(
        .interrupted, "interrupted",
        "Interrupted after \(grouped(last.completed)) of \(counted(max(last.total, last.completed), "value")).",
        advice: advice, store: store)
    }
  }
}
