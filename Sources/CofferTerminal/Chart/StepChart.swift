package import Foundation

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
package struct StepChart: Sendable {
  /// What holds from a moment on, until the next point.
  package struct Point: Hashable, Sendable {
    package let date: Date
    package let value: Int64
    package let isAvailable: Bool
    package let compareAt: Int64?

    package init(_ date: Date, value: Int64, isAvailable: Bool = true, compareAt: Int64? = nil) {
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

  /// - Parameters:
  ///   - points: in any order.
  ///   - until: where the chart ends, as a rule now.
  ///   - timeZone: the reader's.
  ///   - label: a value as people read it: "137.60".
  package init(
    _ points: [Point], until: Date, timeZone: TimeZone = .current, label: @escaping @Sendable (Int64) -> String
  ) {
    // Swift's sort is stable: of two points at one moment, the one that was given last holds.
    self.points = points.sorted { $0.date < $1.date }
    self.until = max(until, self.points.last?.date ?? until)
    self.label = label
    dates = ChartDates(from: self.points.first?.date ?? until, to: self.until, timeZone: timeZone)
  }

  /// The chart as lines of at most `width` columns; the sentence where there is no room to draw, or nothing.
  ///
  /// - Parameters:
  ///   - height: of the whole, with axes and legend. A chart with fewer than five lines has no legend.
  ///   - glyphs: what it is drawn with.
  ///   - style: its colours. They carry nothing that the characters do not say too.
  package func lines(width: Int, height: Int, glyphs: ChartGlyphs = .unicode, style: Style) -> [String] {
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
