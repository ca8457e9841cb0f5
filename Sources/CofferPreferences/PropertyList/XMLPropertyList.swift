import Foundation

/// The constant parts of an XML property list, and its dates.
enum XMLPropertyList {
  static let declaration: StaticString = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
  static let documentType: StaticString =
    "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">"
  static let start: StaticString = "<plist version=\"1.0\">"
  static let end: StaticString = "</plist>"

  /// Returns a date of whole seconds in a year of at most four digits as `2026-11-27T04:54:31Z`.
  static func text(of date: Date) -> String {
    var (time, parts) = (time_t(date.timeIntervalSince1970), tm())
    gmtime_r(&time, &parts)
    func digits(_ number: Int32, _ count: Int = 2) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return "\(digits(parts.tm_year + 1_900, 4))-\(digits(parts.tm_mon + 1))-\(digits(parts.tm_mday))"
      + "T\(digits(parts.tm_hour)):\(digits(parts.tm_min)):\(digits(parts.tm_sec))Z"
  }

  /// Returns the date of such a text; `nil` for any other text and for a date that no calendar has.
  static func date(of text: some RandomAccessCollection<UInt8>) -> Date? {
    var (numbers, number) = ([Int32](), Int32(0))
    for (byte, form) in zip(text, "0000-00-00T00:00:00Z".utf8) {
      guard form == UInt8(ascii: "0") else {
        guard byte == form else { return nil }
        numbers.append(number)
        number = 0
        continue
      }
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + Int32(byte - UInt8(ascii: "0"))
    }
    guard text.count == 20, numbers.count == 6 else { return nil }
    var parts = tm()
    (parts.tm_year, parts.tm_mon, parts.tm_mday) = (numbers[0] - 1_900, numbers[1] - 1, numbers[2])
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (numbers[3], numbers[4], numbers[5])
    let date = Date(timeIntervalSince1970: Double(timegm(&parts)))
    // Otherwise the 30th of February would be the 1st of March.
    return self.text(of: date).utf8.elementsEqual(text) ? date : nil
  }
}
