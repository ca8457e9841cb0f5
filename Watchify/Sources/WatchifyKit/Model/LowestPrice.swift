public import Foundation

/// The lowest price of a variant within a period that ends now. Prices in other currencies do not count; prices at
/// times when the variant was sold out do.
public struct LowestPrice: Codable, Hashable, Sendable {
  /// The length of the period in days; `nil` for all the time since the first read of the variant.
  public var days: Int?
  /// The start of the period.
  public var start: Date
  /// The lowest price within the period.
  public var price: Decimal
  /// The date from which it was the price, for the first time within the period; before the period's start if it was
  /// valid then.
  public var since: Date

  /// Creates a lowest price from its values, for example for a preview or a test.
  public init(days: Int?, start: Date, price: Decimal, since: Date) {
    self.days = days
    self.start = start
    self.price = price
    self.since = since
  }

  /// The period as text, such as "lowest in 90 days" or "lowest since 3 Nov", with the year unless it is that of `now`.
  public func text(at now: Date = Date()) -> String {
    "lowest " + (days.map { "in \($0) days" } ?? "since \(DayText.text(start, now: now))")
  }

  /// The periods, longest first.
  static let periods: [Int?] = [nil, 90, 30]
}

/// The prices of one variant in one currency, oldest first; each is valid until the next. A price of zero may be a
/// mistake of the shop and does not count; while it is the current one, nothing does.
struct PriceHistory: Sendable {
  struct Point: Sendable {
    var at: Date
    var price: Price
  }

  /// The shortest history of which the lowest price is stated, in days.
  static let leastDays = 7

  let points: [Point]

  init(points: [Point]) { self.points = points.last?.price == .zero ? [] : points.filter { $0.price > .zero } }

  /// Creates the history of the prices in the currency of the last one.
  init(of history: [SnapshotDTO]) {
    let currency = history.last?.currency
    let own = history.filter { currency == nil || $0.currency == nil || $0.currency == currency }
    self.init(
      points: own.compactMap { point in
        Price("\(point.price)").map { Point(at: point.capturedAt, price: $0) }
      })
  }

  /// Returns the lowest price of each period that the history spans, shortest first.
  func lowest(at now: Date) -> [LowestPrice] {
    LowestPrice.periods.reversed().compactMap { days in
      let period = points(days: days, at: now)
      return period.min { $0.price < $1.price }.map { lowest(days, $0, at: now) }
    }
  }

  private func lowest(_ days: Int?, _ point: Point, at now: Date) -> LowestPrice {
    let start = days.map { now.addingTimeInterval(-86_400 * Double($0)) } ?? points.first?.at ?? now
    return LowestPrice(days: days, start: start, price: point.price.decimal, since: point.at)
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
      return self.lowest(days, lowest, at: now)
    }
    return nil
  }

  /// Returns a text such as "lowest since 12 Aug (90 days)" if no lower price was valid in the last 30 days, or since
  /// the first read, and some other price was higher; otherwise `nil`.
  func lowestText(at now: Date) -> String? {
    guard let notable = notable(at: now) else { return nil }
    guard let days = notable.days, let lower = points.lastIndex(where: { $0.price < points[points.count - 1].price })
    else { return notable.text(at: now) }
    return "lowest since \(DayText.text(points[lower + 1].at, now: now)) (\(days) days)"
  }

  /// Returns the points of a period; none if it began before the first read, or that is too recent.
  private func points(days: Int?, at now: Date) -> ArraySlice<Point> {
    let start = now.addingTimeInterval(-86_400 * Double(days ?? Self.leastDays))
    // The price at the start of the period is that of the last point before it.
    guard let first = points.lastIndex(where: { $0.at <= start }) else { return [] }
    return points[(days == nil ? 0 : first)...]
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
