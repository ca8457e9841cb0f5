import Foundation

/// A formatter of dates for charts, no more precise than the span of the chart requires. It ignores the locale.
struct ChartDates: Sendable {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  private enum Form { case times, days, daysOfYears }

  private let calendar: Calendar
  private let form: Form
  private let isLong: Bool
  /// The unit of time that ticks are rounded to.
  private let unit: Calendar.Component

  init(from start: Date, to end: Date, timeZone: TimeZone) {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = timeZone
    let span = end.timeIntervalSince(start)
    let isOneYear = calendar.component(.year, from: start) == calendar.component(.year, from: end)
    self.calendar = calendar
    form = span > 0 && span < 36 * 3_600 ? .times : isOneYear ? .days : .daysOfYears
    isLong = span > 300 * 86_400
    unit = form == .times ? (span < 3 * 3_600 ? .minute : .hour) : form == .daysOfYears && isLong ? .month : .day
  }

  /// Returns the nearest start of a minute, hour, day or month, so that a tick is at the date of its label.
  func rounded(_ date: Date) -> Date {
    guard let interval = calendar.dateInterval(of: unit, for: date) else { return date }
    return date.timeIntervalSince(interval.start) < interval.duration / 2 ? interval.start : interval.end
  }

  /// Returns the label of a date on the axis: "14:05", "3 Jan" or "Jan 2026".
  func tick(_ date: Date) -> String {
    let parts = parts(of: date)
    return switch form {
    case .times: parts.time
    case .daysOfYears where isLong: "\(parts.month) \(parts.year)"
    case .days, .daysOfYears: "\(parts.day) \(parts.month)"
    }
  }

  /// Returns a date for use in a sentence: "3 Jan", "3 Jan 2026" or "3 Jan 14:05".
  func text(_ date: Date) -> String {
    let parts = parts(of: date)
    return switch form {
    case .times: "\(parts.day) \(parts.month) \(parts.time)"
    case .days: "\(parts.day) \(parts.month)"
    case .daysOfYears: "\(parts.day) \(parts.month) \(parts.year)"
    }
  }

  /// Returns a range of dates: "5-7 Jan", "28 Jan - 2 Feb 2026", or one date if both texts are the same.
  func range(_ start: Date, _ end: Date) -> String {
    let (first, last) = (text(start), text(end))
    if first == last { return first }
    let (from, to) = (parts(of: start), parts(of: end))
    guard form != .times, from.year == to.year else { return "\(first) - \(last)" }
    return from.month == to.month ? "\(from.day)-\(last)" : "\(from.day) \(from.month) - \(last)"
  }

  private func parts(of date: Date) -> (year: Int, month: String, day: Int, time: String) {
    let parts = calendar.dateComponents([.year, .month, .day, .hour, .minute], from: date)
    let month = Self.months[max(0, min(11, (parts.month ?? 1) - 1))]
    let clock = [parts.hour ?? 0, parts.minute ?? 0].map { ($0 < 10 ? "0" : "") + String($0) }
    return (parts.year ?? 0, month, parts.day ?? 0, clock.joined(separator: ":"))
  }
}
