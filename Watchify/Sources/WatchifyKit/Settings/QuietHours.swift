public import Foundation

/// The hours of the day in which notifications wait, in local time; they may go over midnight.
///
/// ```swift
/// let night = QuietHours("22:00-07:30")
/// ```
public struct QuietHours: Codable, Hashable, Sendable {
  /// The first quiet minute after midnight; no hours when both are the same.
  public var start: Int
  /// The minute after the last quiet one.
  public var end: Int

  /// No quiet hours.
  public static let none = QuietHours(start: 0, end: 0)

  /// Hours by minutes after midnight.
  public init(start: Int, end: Int) {
    self.start = start
    self.end = end
  }

  /// "22:00-07:30", or "off"; `nil` for anything else.
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

  /// When they end, if a moment is within them.
  public func end(at date: Date, calendar: Calendar = .current) -> Date? {
    guard start != end else { return nil }
    let parts = calendar.dateComponents([.hour, .minute], from: date)
    guard let hour = parts.hour, let minute = parts.minute else { return nil }
    let now = hour * 60 + minute
    let isWithin = start < end ? (start..<end).contains(now) : now >= start || now < end
    guard isWithin else { return nil }
    let time = DateComponents(hour: end / 60, minute: end % 60)
    return calendar.nextDate(after: date, matching: time, matchingPolicy: .nextTime)
  }
}

extension QuietHours: CustomStringConvertible {
  /// As it is written in settings: "22:00-07:30", "off".
  public var description: String {
    func text(_ minutes: Int) -> String {
      let (hour, minute) = (minutes / 60, minutes % 60)
      return "\(hour < 10 ? "0" : "")\(hour):\(minute < 10 ? "0" : "")\(minute)"
    }
    return start == end ? "off" : "\(text(start))-\(text(end))"
  }
}
