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
    let zone = calendar.timeZone
    let today = zone.midnight(of: date)
    for day in 0...2 {
      let time = today + day * 86_400 + minutes * 60
      // No zone differs from UTC by 15 hours, so this is before all occurrences.
      let occurrence = zone.date(of: time, after: time - 15 * 3_600)
      if occurrence > date { return occurrence }
    }
    return date.addingTimeInterval(86_400)
  }
}

/// Local times as seconds since the local beginning of 1970, which no change of the clock interrupts. `Calendar` finds
/// no time in a gap of half an hour.
extension TimeZone {
  /// Returns the local midnight before a date.
  func midnight(of date: Date) -> Int {
    let time = Int(date.timeIntervalSince1970.rounded(.down)) + secondsFromGMT(for: date)
    return time - (time % 86_400 + 86_400) % 86_400
  }

  /// Returns the first date after `start`, in seconds since 1970, at which the clock shows a local time; if it skips
  /// the time, the end of the gap. At most one change of the clock may lie between them.
  func date(of time: Int, after start: Int) -> Date {
    func offset(_ seconds: Int) -> Int { secondsFromGMT(for: Date(timeIntervalSince1970: Double(seconds))) }
    var (low, high) = (start, time - offset(start))
    let (before, after) = (offset(low), offset(high))
    guard before != after else { return Date(timeIntervalSince1970: Double(high)) }
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if offset(middle) == before { low = middle } else { high = middle }
    }
    return Date(timeIntervalSince1970: Double(max(high, time - after)))
  }
}

extension DailyTime: CustomStringConvertible {
  /// The time as text, such as "08:00".
  public var description: String {
    [minutes / 60, minutes % 60].map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
  }
}
