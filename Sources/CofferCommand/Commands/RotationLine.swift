import CofferTerminal

/// The bar of a run over values on a terminal, drawn at most ten times a second:
/// `Rotating  [=========>          ]  45 %  4,500 of 10,000 values`.
final class RotationLine {
  private static let width = 20

  private let label: String
  private let line = ProgressLine("")
  private var lastShown: ContinuousClock.Instant?

  init(_ label: String) { self.label = label }

  var elapsed: Duration { line.elapsed }

  func update(values: Int, of count: Int) {
    let now = ContinuousClock.now
    if let lastShown, now - lastShown < .milliseconds(100) { return }
    lastShown = now
    line.show(Self.text(label, values: values, of: count))
  }

  func clear() { line.clear() }

  /// Returns the line for a number of values that are done. More values than there were at first count as all.
  static func text(_ label: String, values: Int, of count: Int) -> String {
    guard count > 0 else { return "\(label): counting the values" }
    let total = max(count, values)
    let filled = width * values / total
    let head = filled < width && filled > 0 ? ">" : ""
    let bar = String(repeating: "=", count: filled - head.count) + head
    return "\(label)  [\(bar.padded(to: width))]  \(String(100 * values / total).paddedLeft(to: 3)) %  "
      + "\(grouped(values)) of \(counted(total, "value"))"
  }
}
