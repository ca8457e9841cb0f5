import Foundation

/// The wording of dates relative to the present, in the time zone of the device.
struct Moments: Sendable {
  let now: Date
  var calendar = Calendar.current

  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns a time such as "14:32".
  func time(_ date: Date) -> String {
    let parts = calendar.dateComponents([.hour, .minute], from: date)
    return [parts.hour ?? 0, parts.minute ?? 0].map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
  }

  /// Returns a day such as "Today", "Yesterday", "31 Jan" or, in another year, "31 Jan 2025".
  func day(_ date: Date) -> String {
    if calendar.isDate(date, inSameDayAs: now) { return "Today" }
    if let before = calendar.date(byAdding: .day, value: -1, to: now), calendar.isDate(date, inSameDayAs: before) {
      return "Yesterday"
    }
    return shortDay(date)
  }

  /// Returns a day such as "31 Jan" or, in another year, "31 Jan 2025".
  func shortDay(_ date: Date) -> String {
    let parts = calendar.dateComponents([.year, .month, .day], from: date)
    let day = "\(parts.day ?? 0) \(Self.months[max(0, min(11, (parts.month ?? 1) - 1))])"
    return parts.year == calendar.component(.year, from: now) ? day : "\(day) \(parts.year ?? 0)"
  }

  /// Returns a day as forms have it, such as "2026-01-31".
  func isoDay(_ date: Date) -> String {
    let parts = calendar.dateComponents([.year, .month, .day], from: date)
    return [parts.year ?? 0, parts.month ?? 0, parts.day ?? 0].map { ($0 < 10 ? "0" : "") + String($0) }
      .joined(separator: "-")
  }

  /// Returns a date such as "14:32", "yesterday 14:32" or "31 Jan 14:32".
  func text(_ date: Date) -> String {
    let day = day(date)
    return day == "Today" ? time(date) : "\(day == "Yesterday" ? "yesterday" : day) \(time(date))"
  }

  /// Returns an element with a date, such as "14:32".
  func element(_ date: Date, _ text: String? = nil) -> HTML {
    tag(.time, .set(.datetime, date.formatted(.iso8601))) { text ?? self.text(date) }
  }

  /// The start of a day that lies a number of days before today.
  func startOfDay(before days: Int) -> Date {
    let today = calendar.startOfDay(for: now)
    return calendar.date(byAdding: .day, value: -days, to: today) ?? today
  }

  /// Returns the start of a day such as "2026-01-31"; `nil` for other text.
  func date(_ text: String) -> Date? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard parts.count == 3, let year = parts[0], let month = parts[1], let day = parts[2], (1970...9999).contains(year)
    else { return nil }
    let wanted = DateComponents(year: year, month: month, day: day)
    guard let date = calendar.date(from: wanted),
      calendar.dateComponents([.year, .month, .day], from: date) == wanted
    else { return nil }
    return date
  }
}
