public import Foundation

/// The time of day of a daily digest, in local time.
public struct DailyTime: Codable, Hashable, Sendable {
  /// The minutes after midnight.
  public let minutes: Int

  /// Creates a time from minutes after midnight; `nil` outside of a day.
  public init?(minutes: Int) {
    guard (0..<1_440).contains(minutes) else { return nil }
    self.minutes = minutes
  }

  /// Creates a time from text such as "08:00"; `nil` for other text.
  public init?(_ text: String) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, (1...2).contains(parts[0].utf8.count), parts[1].utf8.count == 2,
      parts.allSatisfy({ $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }), let hour = Int(parts[0]),
      let minute = Int(parts[1]), hour < 24, minute < 60
    else { return nil }
    minutes = hour * 60 + minute
  }

  /// Returns the next occurrence after a date. A time that the clock skips is replaced by the end of the gap, and one
  /// that it repeats occurs once.
  public func next(after date: Date, calendar: Calendar = .current) -> Date {
    let today = calendar.startOfDay(for: date)
    for day in 0...2 {
      guard let start = calendar.date(byAdding: .day, value: day, to: today),
        let occurrence = calendar.date(
          bySettingHour: minutes / 60, minute: minutes % 60, second: 0, of: start, matchingPolicy: .nextTime,
          repeatedTimePolicy: .first)
      else { continue }
      if occurrence > date { return occurrence }
    }
    return date.addingTimeInterval(86_400)
  }
}

extension DailyTime: CustomStringConvertible {
  /// The time as text, such as "08:00".
  public var description: String {
    [minutes / 60, minutes % 60].map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
  }
}
