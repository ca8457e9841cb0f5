import Coffer
import CofferCore
import CofferTerminal

/// The wait of a command for a run, with a bar on a terminal. SIGINT and SIGTERM end the run after the present commit.
struct Following: Sendable {
  /// What the bar says is being done.
  let label: String
  /// What is true after an interruption, and how to continue.
  let advice: String
  let store: String

  /// Returns the report of the run and the time that it took.
  /// - Throws: `CommandError` after an interruption; the error of the run.
  func end<State, Report>(of run: ObservedTask<State, Report>) async throws -> (Report, Duration) {
    try await interruptible {
      try await withTaskCancellationHandler {
        try await wait(for: run)
      } onCancel: {
        run.cancel()
      }
    }
  }

  private func wait<State, Report>(for run: ObservedTask<State, Report>) async throws -> (Report, Duration) {
    let line = RotationLine(label)
    defer { line.clear() }
    var last = (completed: 0, total: 0)
    for await state in run.updates {
      last = run.units(state)
      line.update(values: last.completed, of: last.total)
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
