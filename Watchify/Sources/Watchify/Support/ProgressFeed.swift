import CofferLocks
import CofferTerminal

/// A progress line that any thread may move on.
// Every use of the line is under the lock.
final class ProgressFeed: @unchecked Sendable {
  private let lock = Locked(())
  private let line: ProgressLine?
  private let label: String

  init(isShown: Bool, _ label: String = "") {
    line = isShown ? ProgressLine(label) : nil
    self.label = label.isEmpty ? "" : label + " "
  }

  func show(_ text: String) { lock.withLock { _ in line?.show(label + text) } }

  /// Writes a line to standard output in place of the progress.
  func write(_ text: String) throws {
    try lock.withLock { _ in
      line?.clear()
      try printText(text)
    }
  }

  func end() { lock.withLock { _ in line?.clear() } }
}
