import Foundation

/// A progress display for long operations: one line on standard error that is redrawn in place.
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
/// Nothing is written to a pipe, a file or a dumb terminal, and a failure of standard error is ignored. The line is
/// cleared when the object is deallocated. It is not thread-safe: only one thread at a time may use it.
public final class ProgressLine {
  /// The minimum time between two updates of the line. More frequent updates would not be readable.
  private static let interval = Duration.milliseconds(100)

  private let label: String
  private let output: Output
  private let isShown: Bool
  private let start = ContinuousClock.now
  private var lastDrawn: ContinuousClock.Instant?
  /// The number of columns that the current line occupies.
  private var width = 0

  /// Creates a progress line that is not shown yet, and starts the measurement of time.
  ///
  /// - Parameters:
  ///   - label: the beginning of the line that ``update(values:bytes:)`` shows.
  ///   - output: the terminal to show it on.
  public init(_ label: String, on output: Output = .error) {
    self.label = label
    self.output = output
    isShown = output.isTerminal && !Style.isDumb
  }

  deinit { clear() }

  /// The time since the line was created.
  public var elapsed: Duration { ContinuousClock.now - start }

  /// Shows the progress, at most ten times a second: `Copying: 1,234 values, 5.6 MiB, 1.2 MiB/s`.
  ///
  /// - Parameters:
  ///   - values: the number of values processed so far.
  ///   - bytes: the number of bytes processed so far. The rate is the average since the line was created.
  public func update(values: Int, bytes: Int) {
    guard isShown else { return }
    let now = ContinuousClock.now
    if let lastDrawn, now - lastDrawn < Self.interval { return }
    lastDrawn = now
    let rate = Double(bytes) / max(0.001, elapsed.inSeconds)
    draw("\(label) \(counted(values, "value")), \(byteCount(bytes)), \(byteCount(Int(rate)))/s")
  }

  /// Replaces the line by a text, truncated to the width of the terminal.
  public func show(_ text: String) {
    if isShown { draw(text) }
  }

  /// Clears the line and writes a sentence for people, as ``Output/note(_:after:)`` does. Unlike the line, the sentence
  /// is written even if there is no terminal.
  ///
  /// - Parameters:
  ///   - text: the sentence, without a newline.
  ///   - label: the text to print in front of it, in red.
  public func note(_ text: String, after label: String? = nil) {
    clear()
    try? output.note(text, after: label)
  }

  /// Clears the line. Call it before other output and at the end of the operation.
  public func clear() {
    guard width > 0 else { return }
    // Blanks need no escape sequence, which NO_COLOR excludes. Two more cover the ^C that a terminal echoes.
    try? output.write("\r" + String(repeating: " ", count: min(width + 2, columns)) + "\r")
    try? output.flush()
    width = 0
  }

  /// The usable width: one less than the terminal's, since text in the last column makes some terminals wrap. If the
  /// width is unknown, 80 columns are assumed.
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

/// Returns a duration in seconds with one decimal digit: `0.3 s`, `1,234.5 s`.
package func seconds(_ duration: Duration) -> String {
  let tenths = Int((duration.inSeconds * 10).rounded())
  return "\(grouped(tenths / 10)).\(tenths % 10) s"
}
