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

  /// Whether the program has ended.
  func hasEnded() -> Bool { state == nil || state == "Z" }
}
