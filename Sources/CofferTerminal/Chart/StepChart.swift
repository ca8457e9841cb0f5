public import Foundation

/// A history of prices for a terminal: a line of steps, since a price holds until the next one. Prices that differ are
/// in different rows as long as there are enough of these, so that no step is lost, and a row's label is its own price.
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
/// Times that nobody could buy are shaded, a compare-at price is dashed, and however many points share a column, the
/// lowest and the highest of them are in it.
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
  /// What holds from a moment on, until the next point.
  public struct Point: Hashable, Sendable {
    /// The moment from which it holds.
    public let date: Date
    /// The price, in a unit of your choice, such as cents.
    public let value: Int64
    /// Whether anybody could buy; times when nobody could are shaded.
    public let isAvailable: Bool
    /// The crossed-out price, in the unit of ``value``; `nil` where there is none.
    public let compareAt: Int64?

    /// Creates a point.
    ///
    /// - Parameters:
    ///   - date: the moment from which it holds.
    ///   - value: the price, in a unit of your choice, such as cents.
    ///   - isAvailable: whether anybody could buy.
    ///   - compareAt: the crossed-out price, in the unit of `value`.
    public init(_ date: Date, value: Int64, isAvailable: Bool = true, compareAt: Int64? = nil) {
      self.date = date
      self.value = value
      self.isAvailable = isAvailable
      self.compareAt = compareAt
    }
  }

  /// In the order of their dates.
  let points: [Point]
  let until: Date
  let dates: ChartDates
  let label: @Sendable (Int64) -> String

  /// Creates a chart.
  ///
  /// - Parameters:
  ///   - points: the history, in any order. Of two points at one moment, the later in the array holds.
  ///   - until: where the chart ends, as a rule now; the last point, if that is later.
  ///   - timeZone: the reader's time zone.
  ///   - label: returns a value as people read it, such as `137.60`.
  public init(
    _ points: [Point], until: Date, timeZone: TimeZone = .current, label: @escaping @Sendable (Int64) -> String
  ) {
    // Swift's sort is stable: of two points at one moment, the one that was given last holds.
    self.points = points.sorted { $0.date < $1.date }
    self.until = max(until, self.points.last?.date ?? until)
    self.label = label
    dates = ChartDates(from: self.points.first?.date ?? until, to: self.until, timeZone: timeZone)
  }

  /// Returns the chart as lines without their ends; the sentence where there are no points, or no room to draw.
  ///
  /// - Parameters:
  ///   - width: the number of columns that a line has at most. A chart needs 12 and takes 240 at most.
  ///   - height: the number of lines with axes and legend. A chart needs 3 and takes 100 at most; one with fewer than
  ///     five has no legend. A price that never changed takes fewer lines.
  ///   - glyphs: the characters to draw with.
  ///   - style: the colours. They carry nothing that the characters do not say too.
  public func lines(width: Int, height: Int, glyphs: ChartGlyphs = .unicode, style: Style) -> [String] {
    // Where there is no terminal, its width is no limit at all.
    let (width, height) = (min(width, 240), min(height, 100))
    guard width >= 12, height >= 3, let plot = ChartPlot(self, width: width, height: height, glyphs: glyphs) else {
      return sentence(width: max(1, width)).split(separator: "\n").map(String.init)
    }
    return plot.lines(style)
  }

  /// How many lines the values need where nothing ever moves: one, or another for the compare-at price. `nil` where
  /// there are steps to see.
  var constantRows: Int? {
    guard Set(points.map(\.value)).count < 2, Set(points.map(\.compareAt)).count < 2 else { return nil }
    return Set(points.flatMap { [$0.value, $0.compareAt ?? $0.value] }).count
  }

  /// The points with the lowest and the highest value, the first of each; `nil` where all are the same.
  var extremes: (low: Int, high: Int)? {
    guard let low = points.indices.min(by: { points[$0].value < points[$1].value }),
      let high = points.indices.min(by: { points[$0].value > points[$1].value }),
      points[low].value < points[high].value
    else { return nil }
    return (low, high)
  }

  /// When nobody could buy; the end is `nil` where that is still so.
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
