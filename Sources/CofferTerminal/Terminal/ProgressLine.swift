import Foundation

/// What somebody at a terminal sees while something long runs: one line on standard error, drawn over itself.
///
/// ```swift
/// let progress = ProgressLine("Copying:")
/// defer { progress.clear() }
/// for (index, file) in files.enumerated() {
///   progress.show("Copying \(file.name.oneLine()), \(index + 1) of \(files.count)")
///   try await copy(file)
/// }
/// ```
///
/// A pipe, a file or a dumb terminal gets none of it, and a failure of standard error never stops the work. The line
/// is taken away with the last reference. One thread at a time may use it.
public final class ProgressLine {
  /// Ten times a second is as often as a person can read it.
  private static let interval = Duration.milliseconds(100)

  private let label: String
  private let output: Output
  private let isShown: Bool
  private let start = ContinuousClock.now
  private var lastDrawn: ContinuousClock.Instant?
  /// How many columns of the line have something in them.
  private var width = 0

  /// Creates a progress line, which is not shown yet. The time starts now.
  ///
  /// - Parameters:
  ///   - label: what ``update(values:bytes:)`` begins the line with.
  ///   - output: the terminal to show it on.
  public init(_ label: String, on output: Output = .error) {
    self.label = label
    self.output = output
    isShown = output.isTerminal && !Style.isDumb
  }

  deinit { clear() }

  /// The time since the line was created.
  public var elapsed: Duration { ContinuousClock.now - start }

  /// Shows how far the work is, at most ten times a second: `Copying: 1,234 values, 5.6 MiB, 1.2 MiB/s`.
  ///
  /// - Parameters:
  ///   - values: how many values are done.
  ///   - bytes: how many bytes are done. The rate is the average since the line was created.
  public func update(values: Int, bytes: Int) {
    guard isShown else { return }
    let now = ContinuousClock.now
    if let lastDrawn, now - lastDrawn < Self.interval { return }
    lastDrawn = now
    let rate = Double(bytes) / max(0.001, elapsed.inSeconds)
    draw("\(label) \(counted(values, "value")), \(byteCount(bytes)), \(byteCount(Int(rate)))/s")
  }

  /// Shows a text in place of the line, cut where the terminal ends.
  public func show(_ text: String) {
    if isShown { draw(text) }
  }

  /// Takes the line away and writes a sentence for people in its place, as ``Output/note(_:after:)`` does. Unlike the
  /// line, the sentence is written even if there is no terminal.
  ///
  /// - Parameters:
  ///   - text: the sentence, without a line end.
  ///   - label: what to print in front of it, in red.
  public func note(_ text: String, after label: String? = nil) {
    clear()
    try? output.note(text, after: label)
  }

  /// Takes the line away: before something else is printed, and at the end.
  public func clear() {
    guard width > 0 else { return }
    // Blanks do what an escape sequence would, also where NO_COLOR asks for none. Two more: a terminal prints ^C.
    try? output.write("\r" + String(repeating: " ", count: min(width + 2, columns)) + "\r")
    try? output.flush()
    width = 0
  }

  /// Something in the last column would make some terminals begin a new line. 80 where they do not say how wide.
  private var columns: Int { max(0, (output.columns == .max ? 80 : output.columns) - 1) }

  private func draw(_ text: String) {
    let text = text.shortened(to: columns)
    let blanks = String(repeating: " ", count: max(0, width - text.columns))
    try? output.write("\r" + output.style.dim(text) + blanks)
    try? output.flush()
    width = text.columns
  }
}

extension Duration {
  var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

/// `0.3 s`, `1,234.5 s`
package func seconds(_ duration: Duration) -> String {
  let tenths = Int((duration.inSeconds * 10).rounded())
  return "\(grouped(tenths / 10)).\(tenths % 10) s"
}
