import Foundation

/// What somebody at a terminal sees while something long runs: one line on standard error, drawn over itself.
///
/// A pipe, a file or a dumb terminal gets none of it. That standard error fails never stops the work.
package final class ProgressLine {
  /// Ten times a second is as often as a person can read it.
  private static let interval = Duration.milliseconds(100)

  private let label: String
  private let output: Output
  private let isShown: Bool
  private let start = ContinuousClock.now
  private var lastDrawn: ContinuousClock.Instant?
  /// How many columns of the line have something in them.
  private var width = 0

  package init(_ label: String, on output: Output = .error) {
    self.label = label
    self.output = output
    isShown = output.isTerminal && !Style.isDumb
  }

  deinit { clear() }

  package var elapsed: Duration { ContinuousClock.now - start }

  /// Shows how far it is, unless that was done a moment ago.
  package func update(values: Int, bytes: Int) {
    guard isShown else { return }
    let now = ContinuousClock.now
    if let lastDrawn, now - lastDrawn < Self.interval { return }
    lastDrawn = now
    let rate = Double(bytes) / max(0.001, elapsed.inSeconds)
    draw("\(label) \(counted(values, "value")), \(byteCount(bytes)), \(byteCount(Int(rate)))/s")
  }

  /// Shows what is going on where there is nothing to count.
  package func show(_ text: String) {
    if isShown { draw(text) }
  }

  /// Writes a sentence for people to standard error, in place of the line.
  package func note(_ text: String, after label: String? = nil) {
    clear()
    try? output.note(text, after: label)
  }

  /// Takes the line away: before something else is printed, and at the end.
  package func clear() {
    guard width > 0 else { return }
    // Blanks do what an escape sequence would, also where NO_COLOR asks for none. Two more: a terminal prints ^C.
    try? output.write("\r" + String(repeating: " ", count: min(width + 2, columns)) + "\r")
    try? output.flush()
    width = 0
  }

  /// Something in the last column would make some terminals begin a new line. 80 where they do not say how wide.
  private var columns: Int { max(0, (output.columns == .max ? 80 : output.columns) - 1) }

  private func draw(_ text: String) {
    let text = String(text.prefix(columns))
    let blanks = String(repeating: " ", count: max(0, width - text.count))
    try? output.write("\r" + output.style.dim(text) + blanks)
    try? output.flush()
    width = text.count
  }
}

extension Duration {
  package var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

/// `0.3 s`, `1,234.5 s`
package func seconds(_ duration: Duration) -> String {
  let tenths = Int((duration.inSeconds * 10).rounded())
  return "\(grouped(tenths / 10)).\(tenths % 10) s"
}
