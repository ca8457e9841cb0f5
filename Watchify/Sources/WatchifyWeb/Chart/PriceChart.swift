import CofferTerminal
import Foundation
import WatchifyKit

/// The geometry of a step chart of a price history. Horizontal positions are percentages of the width, so that one
/// chart fits every window without distorted text; vertical ones are pixels.
struct PriceChart: Sendable {
  /// The values of a variant from a date until the next point.
  struct Point: Hashable, Sendable {
    var date: Date
    var price: Int64
    var compareAt: Int64?
    var isAvailable: Bool
  }

  /// A line between two positions.
  struct Segment: Hashable, Sendable {
    var x1: Double
    var y1: Double
    var x2: Double
    var y2: Double
    /// Whether the variant could be bought at that time.
    var isAvailable = true
  }

  /// A label with its position.
  struct Tick: Hashable, Sendable {
    var position: Double
    var text: String
    /// Whether the label stays in a narrow window.
    var isEssential = true
  }

  static let height = 244.0
  static let top = 34.0
  static let bottom = 188.0
  /// The largest number of points that are drawn.
  static let mostPoints = 400

  /// The points in the currency of the last one, oldest first.
  let points: [Point]
  let start: Date
  let end: Date
  let currency: String?
  private let low: Int64
  private let high: Int64

  /// Creates the chart of a variant; `nil` without any price.
  /// - Parameter until: the end of the chart, usually now.
  init?(_ variant: VariantDTO, currency: String?, until: Date) {
    // A chart has one scale, so prices in an earlier currency are omitted.
    let currency = variant.history.last?.currency ?? currency
    let points = variant.history.filter { $0.currency == currency || $0.currency == nil }.map { snapshot in
      let price = Self.scaled(snapshot.price)
      return Point(
        date: snapshot.capturedAt, price: price,
        compareAt: snapshot.compareAtPrice.map(Self.scaled).flatMap { $0 > price ? $0 : nil },
        isAvailable: snapshot.available)
    }.sorted { $0.date < $1.date }
    guard let first = points.first, let last = points.last else { return nil }
    self.currency = currency
    start = first.date
    end = max(until, last.date)
    self.points = Self.thinned(points, from: start, to: end)
    let values = points.flatMap { [$0.price, $0.compareAt ?? $0.price] }
    low = values.min() ?? 0
    high = values.max() ?? 0
  }

  private static func scaled(_ amount: Decimal) -> Int64 { Price("\(amount)")?.tenThousandths ?? 0 }

  /// Returns at most about ``mostPoints`` points: the first, lowest, highest and last of each of equal periods.
  private static func thinned(_ points: [Point], from start: Date, to end: Date) -> [Point] {
    guard points.count > mostPoints else { return points }
    let (parts, span) = (mostPoints / 4, end.timeIntervalSince(start))
    var kept: [Point] = []
    var rest = points[...]
    for part in 1...parts {
      let limit = start.addingTimeInterval(span * Double(part) / Double(parts))
      let period = part == parts ? rest : rest.prefix { $0.date <= limit }
      rest = rest.dropFirst(period.count)
      let indices = [
        period.indices.first, period.indices.min { period[$0].price < period[$1].price },
        period.indices.max { period[$0].price < period[$1].price }, period.indices.last,
      ]
      kept += Set(indices.compactMap { $0 }).sorted().map { period[$0] }
    }
    return kept
  }

  // MARK: Positions

  /// Returns the horizontal position of a date, in percent.
  func x(_ date: Date) -> Double {
    // A chart of an instant has a width as well.
    let part = date.timeIntervalSince(start) / max(end.timeIntervalSince(start), 1)
    return min(max(part, 0), 1) * 100
  }

  /// Returns the vertical position of a price; in the middle if there is only one.
  func y(_ price: Int64) -> Double {
    guard low < high else { return (Self.top + Self.bottom) / 2 }
    let part = (Double(high) - Double(price)) / (Double(high) - Double(low))
    return Self.top + part * (Self.bottom - Self.top)
  }

  func text(_ price: Int64) -> String { Money.text(Price(tenThousandths: price).decimal, currency) }

  // MARK: Lines

  /// The line of the price: horizontal while it is valid, vertical where it changes.
  var line: [Segment] { segments { $0.price } }
  /// The line of the crossed-out price.
  var compareAt: [Segment] { segments { $0.compareAt } }

  private func segments(_ value: (Point) -> Int64?) -> [Segment] {
    var segments: [Segment] = []
    var before: Double?
    for (index, point) in points.enumerated() {
      guard let current = value(point) else {
        before = nil
        continue
      }
      let (x1, y) = (x(point.date), y(current))
      let x2 = index + 1 < points.count ? x(points[index + 1].date) : 100
      if let before, before != y {
        segments.append(Segment(x1: x1, y1: before, x2: x1, y2: y, isAvailable: point.isAvailable))
      }
      segments.append(Segment(x1: x1, y1: y, x2: x2, y2: y, isAvailable: point.isAvailable))
      before = y
    }
    return segments
  }

  /// The periods without availability, as horizontal positions.
  var soldOut: [ClosedRange<Double>] {
    var spans: [ClosedRange<Double>] = []
    var begun: Double?
    for point in points {
      let x = x(point.date)
      if let start = begun, point.isAvailable {
        if start < x { spans.append(start...x) }
        begun = nil
      } else if begun == nil, !point.isAvailable {
        begun = x
      }
    }
    if let begun, begun < 100 { spans.append(begun...100) }
    return spans
  }

  /// The first points with the lowest and the highest price; `nil` if all prices are equal.
  var extremes: (low: Point, high: Point)? {
    guard let low = points.min(by: { $0.price < $1.price }), let high = points.min(by: { $0.price > $1.price }),
      low.price < high.price
    else { return nil }
    return (low, high)
  }

  /// Returns the middle of the period in which a point's price was valid, as a horizontal position.
  func middle(of point: Point) -> Double {
    let index = points.firstIndex(of: point) ?? 0
    let next = points[index...].first { $0.price != point.price }.map { x($0.date) } ?? 100
    return (x(point.date) + next) / 2
  }

  // MARK: Scales

  /// The round prices that are labelled, lowest first.
  var priceTicks: [Tick] {
    guard low < high else { return [Tick(position: y(low), text: text(low))] }
    let rough = Double(high - low) / 3
    let power = pow(10, floor(log10(rough)))
    let step = max(1, Int64(([1, 2, 5, 10].first { $0 * power >= rough } ?? 10) * power))
    var ticks: [Tick] = []
    // The highest prices of a feed are near the end of the numbers.
    var (value, isOver) = low.addingReportingOverflow(step - 1)
    value = value / step * step
    while !isOver, value <= high, ticks.count < 8 {
      ticks.append(Tick(position: y(value), text: text(value)))
      (value, isOver) = value.addingReportingOverflow(step)
    }
    return ticks.isEmpty ? [Tick(position: y(low), text: text(low))] : ticks
  }

  /// Returns the dates that are labelled.
  func dateTicks(_ moments: Moments) -> [Tick] {
    let span = end.timeIntervalSince(start)
    let isShort = span < 36 * 3_600
    func label(_ date: Date) -> String { isShort ? moments.time(date) : moments.shortDay(date) }
    var ticks = [Tick(position: 0, text: label(start))]
    for part in 1..<6 {
      let exact = start.addingTimeInterval(span * Double(part) / 6)
      let date = isShort ? exact : moments.calendar.startOfDay(for: exact)
      let position = x(date)
      guard position > 10, position < 88, label(date) != ticks.last?.text else { continue }
      ticks.append(Tick(position: position, text: label(date), isEssential: part == 3))
    }
    return ticks.filter { $0.text != label(end) } + [Tick(position: 100, text: label(end))]
  }

  /// The chart in one sentence.
  func sentence(_ moments: Moments) -> String {
    let points = points.map {
      StepChart.Point($0.date, value: $0.price, isAvailable: $0.isAvailable, compareAt: $0.compareAt)
    }
    return StepChart(points, until: end, timeZone: moments.calendar.timeZone) { [currency] in
      Money.text(Price(tenThousandths: $0).decimal, currency)
    }.sentence
  }
}
