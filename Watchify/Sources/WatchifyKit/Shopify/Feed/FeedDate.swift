import Foundation

/// A parser for the dates in feeds and headers. A page has thousands of dates, for which Foundation's formatters are
/// too slow.
enum FeedDate {
  /// Parses an ISO 8601 date such as "2026-07-21T14:54:12-05:00" or "…Z". A fraction of a second is dropped.
  static func iso8601(_ text: UnsafeRawBufferPointer) -> Date? {
    guard text.count >= 20, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
      text[10] | 0x20 == UInt8(ascii: "t"), text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
      let year = number(text, 0..<4), let month = number(text, 5..<7), let day = number(text, 8..<10),
      let hour = number(text, 11..<13), let minute = number(text, 14..<16), let second = number(text, 17..<19),
      let seconds = seconds(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    else { return nil }
    var index = 19
    if text[index] == UInt8(ascii: ".") {
      repeat { index += 1 } while index < text.count && text[index] &- UInt8(ascii: "0") < 10
    }
    guard index > 19 ? index > 20 && index < text.count : true else { return nil }
    if text[index] | 0x20 == UInt8(ascii: "z") {
      return index + 1 == text.count ? Date(timeIntervalSince1970: Double(seconds)) : nil
    }
    let sign = text[index] == UInt8(ascii: "+") ? 1 : text[index] == UInt8(ascii: "-") ? -1 : 0
    guard sign != 0, index + 6 == text.count, text[index + 3] == UInt8(ascii: ":"),
      let hours = number(text, index + 1..<index + 3), let minutes = number(text, index + 4..<index + 6),
      hours < 24, minutes < 60
    else { return nil }
    return Date(timeIntervalSince1970: Double(seconds - sign * (hours * 3600 + minutes * 60)))
  }

  /// Parses an HTTP date such as "Wed, 21 Oct 2026 07:28:00 GMT", as in `Retry-After`.
  static func http(_ text: String) -> Date? {
    let parts = text.split(separator: " ")
    guard parts.count == 6, parts[5] == "GMT", let day = Int(parts[1]), let year = Int(parts[3]),
      let month = months.firstIndex(of: parts[2])
    else { return nil }
    let time = parts[4].split(separator: ":").compactMap { Int($0) }
    guard time.count == 3,
      let seconds = seconds(
        year: year, month: month + 1, day: day, hour: time[0], minute: time[1], second: time[2])
    else { return nil }
    return Date(timeIntervalSince1970: Double(seconds))
  }

  private static let months: [Substring] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private static func number(_ text: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int? {
    var value = 0
    for index in range {
      let digit = text[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      value = value * 10 + Int(digit)
    }
    return value
  }

  /// Returns the seconds since 1970 of a Gregorian date in UTC; `nil` for a date that does not exist.
  private static func seconds(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) -> Int? {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    guard (1...9999).contains(year), (1...12).contains(month), day >= 1, (0..<24).contains(hour),
      (0..<60).contains(minute), (0...60).contains(second),
      day <= (month == 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31)
    else { return nil }
    // Years begin in March here, so that the leap day is the last day of the year.
    let (shifted, moved) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
    let days = 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + (153 * moved + 2) / 5 + day - 1 - 719_468
    return days * 86_400 + hour * 3600 + minute * 60 + second
  }
}
