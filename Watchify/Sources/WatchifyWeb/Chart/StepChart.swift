public import CofferTerminal
public import Foundation

/// A step chart of a price history for a terminal. Different prices are in different rows as long as there are enough
/// rows, so that every step is visible, and the label of a row is the exact price that is drawn in it.
///
/// ```text
/// 206.00 ┤───▲──┐╌┐
///        │ ░░░  │ └╌╌╌
///        │ ░░░  └─┐
/// 137.60 ┤ ░░░    └─▼─
///        └┬──────────┬
///         3 Jan 17 Jan
/// ```
///
/// Times without availability are shaded, and a compare-at price is dashed. If several points share a column, it
/// includes the lowest and the highest of them.
///
/// ```swift
/// let points = [
///   StepChart.Point(january, value: 20_600),
///   StepChart.Point(february, value: 13_760, compareAt: 17_200),
/// ]
/// let chart = StepChart(points, until: Date()) { (Double($0) / 100).formatted(.currency(code: "EUR")) }
/// let output = Output.standard
/// for line in chart.lines(width: min(output.columns, 100), height: 12, glyphs: .ofEnvironment, style: output.style) {
///   try output.writeLine(line)
/// }
/// try output.flush()
/// ```
public struct StepChart: Sendable {
  /// A price and availability that apply from a date until the next point.
  public struct Point: Hashable, Sendable {
    /// The date from which the point applies.
    public let date: Date
    /// The price, in a unit of your choice, such as cents.
    public let value: Int64
    /// Whether the product is available; the time until the next point is shaded if it is not.
    public let isAvailable: Bool
    /// The crossed-out price, in the unit of ``value``; `nil` if there is none.
    public let compareAt: Int64?

    /// Creates a point.
    ///
    /// - Parameters:
    ///   - date: the date from which the point applies.
    ///   - value: the price, in a unit of your choice, such as cents.
    ///   - isAvailable: whether the product is available.
    ///   - compareAt: the crossed-out price, in the unit of `value`.
    public init(_ date: Date, value: Int64, isAvailable: Bool = true, compareAt: Int64? = nil) {
      self.date = date
      self.value = value
      self.isAvailable = isAvailable
      self.compareAt = compareAt
    }
  }

  /// The points, sorted by date.
  let points: [Point]
  let until: Date
  let dates: ChartDates
  let label: @Sendable (Int64) -> String

  /// Creates a chart.
  ///
  /// - Parameters:
  ///   - points: the history, in any order. Of two points with the same date, the later one in the array applies.
  ///   - until: the end of the chart, usually now. If the last point is later, the chart ends there.
  ///   - timeZone: the time zone of the displayed dates.
  ///   - label: formats a value for display, such as `137.60`.
  public init(
    _ points: [Point], until: Date, timeZone: TimeZone = .current, label: @escaping @Sendable (Int64) -> String
  ) {
    // The sort is stable, so of two points with the same date the one that was passed last applies.
    self.points = points.sorted { $0.date < $1.date }
    self.until = max(until, self.points.last?.date ?? until)
    self.label = label
    dates = ChartDates(from: self.points.first?.date ?? until, to: self.until, timeZone: timeZone)
  }

  /// Returns the chart as lines without newlines. If there are no points or there is no room to draw, returns the
  /// sentence instead.
  ///
  /// - Parameters:
  ///   - width: the maximum number of columns. A chart needs at least 12 and uses at most 240.
  ///   - height: the maximum number of lines, including axes and legend. A chart needs at least 3 and uses at most 100;
  ///     with fewer than five it has no legend. A constant price takes fewer lines.
  ///   - glyphs: the characters to draw with.
  ///   - style: the colours, which only repeat information that the glyphs carry.
  public func lines(width: Int, height: Int, glyphs: ChartGlyphs = .unicode, style: Style) -> [String] {
    // Without a terminal, the width of the output is `Int.max`.
    let (width, height) = (min(width, 240), min(height, 100))
    guard width >= 12, height >= 3, let plot = ChartPlot(self, width: width, height: height, glyphs: glyphs) else {
      return sentence(width: max(1, width)).split(separator: "\n").map(String.init)
    }
    return plot.lines(style)
  }

  /// The number of rows of a chart without steps: one, or two if the compare-at price differs. `nil` with steps.
  var constantRows: Int? {
    guard Set(points.map(\.value)).count < 2, Set(points.map(\.compareAt)).count < 2 else { return nil }
    return Set(points.flatMap { [$0.value, $0.compareAt ?? $0.value] }).count
  }

  /// The indices of the first points with the lowest and the highest value; `nil` if all values are equal.
  var extremes: (low: Int, high: Int)? {
    guard let low = points.indices.min(by: { points[$0].value < points[$1].value }),
      let high = points.indices.min(by: { points[$0].value > points[$1].value }),
      points[low].value < points[high].value
    else { return nil }
    return (low, high)
  }

  /// The spans without availability; the end is `nil` for a span that has not ended.
  var soldOut: [(start: Date, end: Date?)] {
    var spans: [(start: Date, end: Date?)] = []
    var start: Date?
    for point in points {
      if let begun = start, point.isAvailable {
        if begun < point.date { spans.append((begun, point.date)) }
        start = nil
      } else if start == nil, !point.isAvailable {
        start = point.date
      }
    }
    if let start { spans.append((start, nil)) }
    return spans
  }
}
