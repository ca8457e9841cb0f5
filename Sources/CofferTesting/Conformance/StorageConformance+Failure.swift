public import Foundation

extension StorageConformance {
  /// A violation of the storage contract, found by a check of ``StorageConformance``.
  public struct Failure: Error, Hashable, Sendable, CustomStringConvertible, LocalizedError {
    /// The name of the tested engine or adapter.
    public let subject: String
    /// The name of the check that failed.
    public let check: String
    /// A sentence that states what was expected and what happened.
    public let sentence: String
    /// The source file of the check, as a file identifier.
    public let file: String
    /// The line of the expectation that failed.
    public let line: UInt

    public var description: String { "\(subject): \(check): \(sentence) (\(file):\(line))" }
    public var errorDescription: String? { description }
  }
}

extension StorageConformance {
  /// The outcome of every check of a run.
  public struct Report: Sendable, CustomStringConvertible {
    /// A check that does not apply to the tested engine or adapter.
    public struct Skipped: Sendable {
      /// The check that was skipped.
      public let check: StorageConformance.Check
      /// A sentence that states why the check does not apply.
      public let reason: String
    }

    /// The name of the tested engine or adapter.
    public let name: String
    /// The checks that passed.
    public internal(set) var passed: [StorageConformance.Check] = []
    /// The checks that do not apply, with the reasons.
    public internal(set) var skipped: [Skipped] = []
    /// The failures, one for each check that failed.
    public internal(set) var failures: [StorageConformance.Failure] = []

    init(name: String) { self.name = name }

    public var description: String {
      var lines = ["\(name): \(passed.count) passed, \(skipped.count) skipped, \(failures.count) failed"]
      lines += passed.map { "  passed   \($0.name)" }
      lines += skipped.map { "  skipped  \($0.check.name): \($0.reason)" }
      lines += failures.map { "  FAILED   \($0.check): \($0.sentence) (\($0.file):\($0.line))" }
      return lines.joined(separator: "\n")
    }
  }
}

extension StorageConformance {
  /// The error that ``StorageConformance/run()`` throws if at least one check failed.
  public struct Failures: Error, Sendable, CustomStringConvertible, LocalizedError {
    /// The outcome of every check.
    public let report: StorageConformance.Report
    /// The failures of the run; never empty.
    public var failures: [StorageConformance.Failure] { report.failures }

    public var description: String { failures.map(\.description).joined(separator: "\n") }
    public var errorDescription: String? { description }
  }
}
