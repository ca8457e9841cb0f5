import CofferCore
import CofferTerminal

/// A progress line that may be updated from any thread.
// The line is only used under the lock.
final class ProgressFeed: @unchecked Sendable {
  private let lock = Locked(())
  private let line: ProgressLine?
  private let label: String

  init(isShown: Bool, _ label: String = "") {
    line = isShown ? ProgressLine(label) : nil
    self.label = label.isEmpty ? "" : label + " "
  }

  func show(_ text: String) { lock.withLock { _ in line?.show(label + text) } }

  /// Clears the progress line and writes a line to standard output.
  func write(_ text: String) throws {
    try lock.withLock { _ in
      line?.clear()
      try printText(text)
    }
  }

  func end() { lock.withLock { _ in line?.clear() } }
}
