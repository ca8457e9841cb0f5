public import Foundation

/// A promise that a store did not keep.
public struct ConformanceFailure: Error, Hashable, Sendable, CustomStringConvertible, LocalizedError {
  /// The store's name.
  public let subject: String
  /// The name of the check.
  public let check: String
  /// What was expected and what happened.
  public let sentence: String
  /// The file of the check.
  public let file: String
  /// The line of the expectation in it.
  public let line: UInt

  public var description: String { "\(subject): \(check): \(sentence) (\(file):\(line))" }
  public var errorDescription: String? { description }
}

/// How every check of a run ended.
public struct ConformanceReport: Sendable, CustomStringConvertible {
  /// A check that does not apply to the store.
  public struct Skipped: Sendable {
    /// The check.
    public let check: StorageConformance.Check
    /// Why it does not apply.
    public let reason: String
  }

  /// The store's name.
  public let name: String
  /// The checks that held.
  public internal(set) var passed: [StorageConformance.Check] = []
  /// The checks that do not apply.
  public internal(set) var skipped: [Skipped] = []
  /// The checks that did not hold.
  public internal(set) var failures: [ConformanceFailure] = []

  init(name: String) { self.name = name }

  public var description: String {
    var lines = ["\(name): \(passed.count) passed, \(skipped.count) skipped, \(failures.count) failed"]
    lines += passed.map { "  passed   \($0.name)" }
    lines += skipped.map { "  skipped  \($0.check.name): \($0.reason)" }
    lines += failures.map { "  FAILED   \($0.check): \($0.sentence) (\($0.file):\($0.line))" }
    return lines.joined(separator: "\n")
  }
}

/// What ``StorageConformance/run()`` throws: at least one check failed.
public struct ConformanceFailures: Error, Sendable, CustomStringConvertible, LocalizedError {
  /// How every check ended.
  public let report: ConformanceReport
  /// The checks that failed, at least one.
  public var failures: [ConformanceFailure] { report.failures }

  public var description: String { failures.map(\.description).joined(separator: "\n") }
  public var errorDescription: String? { description }
}
