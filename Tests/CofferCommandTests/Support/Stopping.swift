import CofferTestSupport
import Foundation

extension RunningProgram {
  /// The state of the process in `/proc/PID/stat` (proc(5)), such as "R" or "T"; `nil` after its end.
  private var state: Substring? {
    guard let line = try? String(contentsOfFile: "/proc/\(identifier)/stat", encoding: .utf8) else { return nil }
    // The name of the program, in parentheses, may contain spaces.
    return line.split(separator: ")").last?.split(separator: " ").first
  }

  /// Whether a signal has stopped the program.
  func isStopped() -> Bool { state == "T" }

  /// Whether a signal would not have its default action: one that is received, or ignored.
  func handles(_ signal: Int32) -> Bool {
    let status = (try? String(contentsOfFile: "/proc/\(identifier)/status", encoding: .utf8)) ?? ""
    return status.split(separator: "\n").contains { line in
      guard line.hasPrefix("SigCgt:") || line.hasPrefix("SigIgn:") else { return false }
      let mask = line.split(whereSeparator: \.isWhitespace).last.flatMap { UInt64($0, radix: 16) } ?? 0
      return mask >> UInt64(signal - 1) & 1 == 1
    }
  }

  /// Whether the program has ended.
  func hasEnded() -> Bool { state == nil || state == "Z" }
}
