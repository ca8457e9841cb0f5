import Foundation

/// A date as ISO 8601 text, such as `2026-11-21` or `2026-11-21T09:00:00.5+02:00`. One without a time is in UTC.
///
/// Foundation's styles accept days and offsets that do not exist, such as February 30 and `+99:99`, and return another
/// date for them.
enum DateText {
  /// Returns the date of a text, or `nil` if it is not a date.
  static func date(_ text: String, requiringTime: Bool = false) -> Date? {
    let pattern =
      #/
      (?<y> \d{4} ) - (?<m> \d\d ) - (?<d> \d\d )
      (?<time> T ([01]\d | 2[0-3]) :? [0-5]\d :? [0-5]\d (\.\d+)? ( Z | [+-] (?<h> \d\d ) :? (?<min> \d\d ) ) )?
      /#
    guard let parts = text.wholeMatch(of: pattern)?.output, parts.time != nil || !requiringTime,
      isDay(parts.y, parts.m, parts.d), isOffset(parts.h, parts.min)
    else { return nil }
    return (try? Date(text, strategy: .iso8601))
      ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
      ?? (parts.time == nil ? try? Date(text, strategy: .iso8601.year().month().day()) : nil)
  }

  private static func isDay(_ year: Substring, _ month: Substring, _ day: Substring) -> Bool {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = .gmt
    return DateComponents(calendar: calendar, year: Int(year), month: Int(month), day: Int(day)).isValidDate
  }

  /// Whether an offset from UTC exists. The largest in use is 14 hours.
  private static func isOffset(_ hours: Substring?, _ minutes: Substring?) -> Bool {
    guard let hours = hours.flatMap({ Int($0) }), let minutes = minutes.flatMap({ Int($0) }) else { return true }
    return minutes < 60 && hours * 60 + minutes <= 14 * 60
  }
}
