import CofferLocks
import Foundation

/// Injures copies of a store, one file of each, and has them read: every answer must be the right value, an error, or,
/// where the store says that it has lost commits, an older acknowledged value (``SweepJudge``).
///
/// The stores are read in processes of their own, so that one that crashes or hangs is seen, too.
package struct Sweep {
  package struct Outcome: Sendable, CustomStringConvertible {
    /// What no store may do, each with the number of the injury; at the end how to repeat it.
    package var failures: [String] = []
    /// How the injured stores have answered.
    package var summary: [String] = []

    /// The first failures, a line each.
    package var description: String {
      (["\(failures.count) failures"] + failures.prefix(12) + failures.suffix(1)).joined(separator: "\n  ")
    }
  }

  /// Of another sweep: `COFFER_SWEEP_SEED=N`.
  package static let seed = ProcessInfo.processInfo.environment["COFFER_SWEEP_SEED"].flatMap { UInt64($0) } ?? 20_260

  /// How long one injured store may take to be read, in milliseconds.
  private static let deadline: Int32 = 60_000
  /// More crashes or hangs of one worker than these say nothing new.
  private static let maximumDeaths = 20

  package let home: String
  package let seed: UInt64

  package init(_ home: String, seed: UInt64 = Sweep.seed) { (self.home, self.seed) = (home, seed) }

  /// Reads `count` injured stores. The template stays where it is when something was wrong: it is needed to repeat it.
  package func run(_ count: Int, workers: Int = 1) throws -> Outcome {
    let results = Locked<[Result<Outcome, any Error>]>([])
    DispatchQueue.concurrentPerform(iterations: workers) { worker in
      let range = (count * worker / workers)..<(count * (worker + 1) / workers)
      let result = Result { try work(range) }
      results.withLock { $0.append(result) }
    }
    var outcome = Outcome()
    for result in results.withLock({ $0 }) {
      let part = try result.get()
      outcome.failures += part.failures
      outcome.summary += part.summary
    }
    print("sweep of \(home), seed \(seed), \(count) injuries: \(outcome.summary.joined(separator: "; "))")
    return outcome
  }

  /// Each worker has a template of its own.
  private func work(_ range: Range<Int>) throws -> Outcome {
    let directory = try sweepDirectory()
    let builder = try HelperProcess(["sweep-build", directory, home])
    let lines = try builder.lines()
    guard builder.wait() == 0, lines.last == "built" else {
      throw TestFailure("the template of \(home) could not be built in \(directory): \(lines)")
    }
    var outcome = Outcome()
    var (next, deaths) = (range.lowerBound, 0)
    while next < range.upperBound, deaths < Self.maximumDeaths {
      let helper = try HelperProcess(["sweep", directory, home, "\(seed)", "\(next)", "\(range.upperBound - next)"])
      guard let death = try listen(to: helper, &next, &outcome) else { break }
      deaths += 1
      outcome.failures.append("\(next) \(death)")
      next += 1
    }
    if outcome.failures.isEmpty {
      try FileManager.default.removeItem(atPath: directory)
    } else {
      outcome.failures.append("To repeat one: CofferTestHelper sweep \(directory) \(home) \(seed) NUMBER 1")
    }
    return outcome
  }

  /// - Returns: Why it has ended before its end, at the injury `next`.
  private func listen(to helper: HelperProcess, _ next: inout Int, _ outcome: inout Outcome) throws -> String? {
    while let line = try helper.line(within: Self.deadline) {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      switch words.first {
      case "at": next = words.last.flatMap { Int($0) } ?? next
      case "bad": outcome.failures.append(words.last ?? "")
      case "summary": outcome.summary.append(words.last ?? "")
      case "done": return nil
      default: return "has said '\(line)'"
      }
    }
    let hangs = helper.process.isRunning
    helper.kill()
    return "\(hangs ? "hangs or crashes" : "has ended"): status \(helper.wait())"
  }
}
