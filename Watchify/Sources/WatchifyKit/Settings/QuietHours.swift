public import Foundation

/// The hours of the day in which notifications are held back, in local time. They may span midnight.
///
/// ```swift
/// let night = QuietHours("22:00-07:30")
/// ```
public struct QuietHours: Codable, Hashable, Sendable {
  /// The first quiet minute, in minutes after midnight. Equal to `end` if there are no quiet hours.
  public var start: Int
  /// The minute after the last quiet one, in minutes after midnight.
  public var end: Int

  /// No quiet hours.
  public static let none = QuietHours(start: 0, end: 0)

  /// Creates quiet hours from minutes after midnight.
  public init(start: Int, end: Int) {
    self.start = start
    self.end = end
  }

  /// Creates quiet hours from text such as "22:00-07:30" or "off"; `nil` for other text.
  public init?(_ text: String) {
    if text == "off" {
      self = .none
      return
    }
    let parts = text.split(separator: "-", omittingEmptySubsequences: false).map { Self.minutes($0) }
    guard parts.count == 2, let start = parts[0], let end = parts[1], start != end else { return nil }
    self.init(start: start, end: end)
  }

  private static func minutes(_ text: Substring) -> Int? {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ (1...2).contains($0.utf8.count) && $0.allSatisfy(\.isASCII) }),
      let hour = Int(parts[0]), let minute = Int(parts[1]), (0...23).contains(hour), (0...59).contains(minute)
    else { return nil }
    return hour * 60 + minute
  }

  /// Returns the end of the quiet hours that contain a date; `nil` if the date is outside them.
  public func end(at date: Date, calendar: Calendar = .current) -> Date? {
    guard start != end else { return nil }
    let zone = calendar.timeZone
    let (midnight, second) = (zone.midnight(of: date), Int(date.timeIntervalSince1970.rounded(.down)))
    let now = (second + zone.secondsFromGMT(for: date) - midnight) / 60
    let isWithin = start < end ? (start..<end).contains(now) : now >= start || now < end
    guard isWithin else { return nil }
    return zone.date(of: midnight + (now < end ? 0 : 86_400) + end * 60, after: second)
  }
}

extension QuietHours: CustomStringConvertible {
  /// The text form used in settings, such as "22:00-07:30" or "off".
  public var description: String {
    func text(_ minutes: Int) -> String {
      let (hour, minute) = (minutes / 60, minutes % 60)
      return "\(hour < 10 ? "0" : "")\(hour):\(minute < 10 ? "0" : "")\(minute)"
    }
    return start == end ? "off" : "\(text(start))-\(text(end))"
  }
}
