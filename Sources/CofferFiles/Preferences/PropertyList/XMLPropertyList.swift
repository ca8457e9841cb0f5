import Foundation

/// The constant parts of an XML property list, and its dates.
enum XMLPropertyList {
  static let declaration: StaticString = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
  static let documentType: StaticString =
    "<!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">"
  static let start: StaticString = "<plist version=\"1.0\">"
  static let end: StaticString = "</plist>"
  /// The name of the only entry of a dictionary that Foundation takes for a reference of a keyed archive.
  static let reservedName = "CF$UID"
  /// The nesting that Foundation reads.
  static let maximumDepth = 512

  private static let secondsOfDay = 86_400
  /// The number of days from the 1st of March of the year 0 to the 1st of January 1970.
  private static let epoch = 719_468
  private static let daysOfEra = 146_097

  /// Returns a date of whole seconds in the years 0 to 9999 as `2026-11-27T04:54:31Z`: in the Gregorian calendar and
  /// without leap seconds, as Foundation does. In some time zones the functions of the C library count them.
  static func text(of date: Date) -> String {
    let seconds = Int(date.timeIntervalSince1970)
    let day = Int((Double(seconds) / Double(secondsOfDay)).rounded(.down))
    let time = seconds - day * secondsOfDay
    // Years begin in March: howardhinnant.github.io/date_algorithms.html, civil_from_days.
    let (era, dayOfEra) = (day + epoch).quotientAndRemainder(dividingBy: daysOfEra)
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let march = (5 * dayOfYear + 2) / 153
    let month = march < 10 ? march + 3 : march - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    func digits(_ number: Int, _ count: Int = 2) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return "\(digits(year, 4))-\(digits(month))-\(digits(dayOfYear - (153 * march + 2) / 5 + 1))"
      + "T\(digits(time / 3_600)):\(digits(time / 60 % 60)):\(digits(time % 60))Z"
  }

  /// Returns the date of such a text; `nil` for any other text and for a date that no calendar has.
  static func date(of text: some RandomAccessCollection<UInt8>) -> Date? {
    var (numbers, number) = ([Int](), 0)
    for (byte, form) in zip(text, "0000-00-00T00:00:00Z".utf8) {
      guard form == UInt8(ascii: "0") else {
        guard byte == form else { return nil }
        numbers.append(number)
        number = 0
        continue
      }
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + Int(byte - UInt8(ascii: "0"))
    }
    guard text.count == 20, numbers.count == 6, (1...12).contains(numbers[1]) else { return nil }
    // The same page, days_from_civil; here from the year 400 before, so that no number is negative.
    let year = numbers[0] + 400 - (numbers[1] <= 2 ? 1 : 0)
    let (era, yearOfEra) = year.quotientAndRemainder(dividingBy: 400)
    let march = numbers[1] > 2 ? numbers[1] - 3 : numbers[1] + 9
    let dayOfYear = (153 * march + 2) / 5 + numbers[2] - 1
    let day = (era - 1) * daysOfEra + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - epoch
    let time = numbers[3] * 3_600 + numbers[4] * 60 + numbers[5]
    let date = Date(timeIntervalSince1970: Double(day * secondsOfDay + time))
    // Otherwise the 30th of February would be the 1st of March.
    return day + epoch >= 0 && self.text(of: date).utf8.elementsEqual(text) ? date : nil
  }
}
