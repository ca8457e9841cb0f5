public import Foundation

/// The lowest price of a variant within a period that ends now. Prices in other currencies do not count; prices at
/// times when the variant was sold out do.
public struct LowestPrice: Codable, Hashable, Sendable {
  /// The length of the period in days; `nil` for all the time in which the variant has been read.
  public var days: Int?
  /// The lowest price within the period.
  public var price: Decimal
  /// The date from which it was the price, for the first time within the period; before the period's start if it was
  /// valid then.
  public var since: Date

  /// Creates a lowest price from its values, for example for a preview or a test.
  public init(days: Int?, price: Decimal, since: Date) {
    self.days = days
    self.price = price
    self.since = since
  }

  /// The periods, longest first.
  static let periods: [Int?] = [nil, 90, 30]
}

/// The prices of one variant in one currency, oldest first; each is valid until the next.
struct PriceHistory: Sendable {
  struct Point: Sendable {
    var at: Date
    var price: Price
  }

  var points: [Point]

  init(points: [Point]) { self.points = points }

  /// Creates the history of the prices in the currency of the last one.
  init(of history: [SnapshotDTO]) {
    let currency = history.last?.currency
    points = history.filter { currency == nil || $0.currency == nil || $0.currency == currency }.compactMap { point in
      Price("\(point.price)").map { Point(at: point.capturedAt, price: $0) }
    }
  }

  /// Returns the lowest price of each period, shortest first; empty without any price.
  func lowest(at now: Date) -> [LowestPrice] {
    LowestPrice.periods.reversed().compactMap { lowest(days: $0, at: now) }
  }

  func lowest(days: Int?, at now: Date) -> LowestPrice? {
    let period = points(days: days, at: now)
    guard let lowest = period.min(by: { $0.price < $1.price }) else { return nil }
    return LowestPrice(days: days, price: lowest.price.decimal, since: lowest.at)
  }

  /// Returns the longest period in which the current price is the lowest and some other price was higher; `nil` if
  /// there is none. A price that never changed is not worth mentioning.
  func notable(at now: Date) -> LowestPrice? {
    guard let current = points.last else { return nil }
    for days in LowestPrice.periods {
      let period = points(days: days, at: now)
      guard let lowest = period.min(by: { $0.price < $1.price }), lowest.price == current.price,
        period.contains(where: { $0.price > current.price })
      else { continue }
      return LowestPrice(days: days, price: current.price.decimal, since: lowest.at)
    }
    return nil
  }

  /// The date from which no lower price than the current one has been valid, and whether none ever was.
  var lowestSince: (date: Date, isEver: Bool)? {
    guard let current = points.last, let first = points.first else { return nil }
    guard let lower = points.lastIndex(where: { $0.price < current.price }) else { return (first.at, true) }
    return (points[lower + 1].at, false)
  }

  /// Returns a text such as "lowest since 12 Aug (90 days)" if no lower price was valid in the last 30 days or ever,
  /// and some other price was higher; otherwise `nil`.
  func lowestText(at now: Date) -> String? {
    guard let notable = notable(at: now), let since = lowestSince else { return nil }
    let day = DayText.text(since.date, now: now)
    return since.isEver ? "lowest ever seen (since \(day))" : "lowest since \(day) (\(notable.days ?? 0) days)"
  }

  private func points(days: Int?, at now: Date) -> ArraySlice<Point> {
    guard let days else { return points[...] }
    let start = now.addingTimeInterval(-86_400 * Double(days))
    // The price at the start of the period is that of the last point before it.
    let first = points.lastIndex { $0.at <= start } ?? 0
    return points[min(first, points.count)...]
  }
}

/// Days in notifications.
enum DayText {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns a day in local time, such as "12 Aug", with the year if it is not the current one.
  static func text(_ date: Date, now: Date) -> String {
    let calendar = Calendar.current
    let (day, today) = (
      calendar.dateComponents([.year, .month, .day], from: date), calendar.component(.year, from: now)
    )
    let month = months[max(0, min(11, (day.month ?? 1) - 1))]
    return "\(day.day ?? 0) \(month)" + (day.year == today ? "" : " \(day.year ?? 0)")
  }
}
