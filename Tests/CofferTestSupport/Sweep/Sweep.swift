import CofferCore
import Foundation

/// A test that damages one file in each of many copies of a store and reads them. Every read must return the correct
/// value, an error, or, if the store reports lost commits, an older acknowledged value (``SweepJudge``).
///
/// The stores are read in separate processes, so that crashes and hangs are detected as well.
package struct Sweep {
  package struct Outcome: Sendable, CustomStringConvertible {
    /// The violations, each with the number of its injury, followed by a command to repeat them.
    package var failures: [String] = []
    /// The summaries of the workers.
    package var summary: [String] = []

    /// The first failures, one per line.
    package var description: String {
      (["\(failures.count) failures"] + failures.prefix(12) + failures.suffix(1)).joined(separator: "\n  ")
    }
  }

  /// The seed of the sweep. Set `COFFER_SWEEP_SEED` to use another one.
  package static let seed = ProcessInfo.processInfo.environment["COFFER_SWEEP_SEED"].flatMap { UInt64($0) } ?? 20_260

  /// The time limit for reading one damaged store, in milliseconds.
  private static let deadline: Int32 = 60_000
  /// The number of crashes or hangs after which a worker stops.
  private static let maximumDeaths = 20

  package let kind: String
  package let seed: UInt64
  /// The command of the helper, and `COMMAND-build`, which builds its template.
  private let command: String

  package init(_ kind: String, seed: UInt64 = Sweep.seed) { (self.kind, self.seed, command) = (kind, seed, "sweep") }

  /// A sweep of the states that losses of power leave (``PowerLoss``).
  /// - Parameter isBroken: whether syncs are left out or made late instead, each of which should be noticed. A number
  ///   is then a thousandth of the programs.
  package init(lossesOf kind: String, isBroken: Bool = false, seed: UInt64 = Sweep.seed) {
    (self.kind, self.seed, command) = (kind, seed, isBroken ? "loss-broken" : "loss")
  }

  /// Reads `count` damaged stores. After a failure, the template is kept, since it is needed to repeat the injury.
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
    print("\(command) of \(kind), seed \(seed), \(count) times: \(outcome.summary.joined(separator: "; "))")
    return outcome
  }

  /// Reads the stores of one worker, which has a separate template.
  private func work(_ range: Range<Int>) throws -> Outcome {
    let directory = try sweepDirectory()
    let environment = environment(directory)
    let builder = try HelperProcess(
      ["\(command == "sweep" ? "sweep" : "loss")-build", directory, kind],
      environment: environment + [("COFFER_RECORD", directory + "/log")])
    let lines = try builder.lines()
    guard builder.wait() == 0, lines.last == "built" else {
      throw TestFailure("the template of \(kind) could not be built in \(directory): \(lines)")
    }
    var outcome = Outcome()
    var (next, deaths) = (range.lowerBound, 0)
    while next < range.upperBound, deaths < Self.maximumDeaths {
      let helper = try HelperProcess(
        [command, directory, kind, "\(seed)", "\(next)", "\(range.upperBound - next)"], environment: environment)
      guard let death = try listen(to: helper, &next, &outcome) else { break }
      deaths += 1
      outcome.failures.append("\(next) \(death)")
      next += 1
    }
    if outcome.failures.isEmpty {
      try FileManager.default.removeItem(atPath: directory)
    } else {
      outcome.failures.append("To repeat one: CofferTestHelper \(command) \(directory) \(kind) \(seed) NUMBER 1")
    }
    return outcome
  }

  private func environment(_ directory: String) -> [(String, String)] {
    if command == "sweep" { return [("LD_PRELOAD", FaultLibrary.path ?? ""), ("COFFER_ONE_NAME", "1")] }
    guard let library = RecordingLibrary.path else { return [] }
    return [("LD_PRELOAD", library), ("COFFER_RECORD_POOL", directory + "/pool")]
  }

  /// Collects the output of a helper.
  /// - Returns: Why the helper ended early, at the injury `next`; `nil` if it finished.
  private func listen(to helper: HelperProcess, _ next: inout Int, _ outcome: inout Outcome) throws -> String? {
    while let line = try helper.line(within: Self.deadline) {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      switch words.first {
      case "ack": break
      case "at": next = words.last.flatMap { Int($0) } ?? next
      case "bad": outcome.failures.append(words.last ?? "")
      case "summary": outcome.summary.append(words.last ?? "")
      case "done": return nil
      default: return "printed '\(line)'"
      }
    }
    let hangs = helper.process.isRunning
    helper.kill()
    return "\(hangs ? "hangs or crashes" : "ended"): status \(helper.wait())"
  }
}
