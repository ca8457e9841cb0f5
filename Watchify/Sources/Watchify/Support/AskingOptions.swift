import CofferTerminal
import Foundation
import WatchifyKit

/// The options for requests to a store: `--country`, `--header` and `--until`.
extension Invocation {
  /// Returns the value of `--country`, two upper-case letters; `nil` if not given.
  func country() throws -> String? {
    guard let text = options[.country]?.uppercased() else { return nil }
    guard text.utf8.count == 2, text.utf8.allSatisfy({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) else {
      throw Command.mistake("--country takes two letters, such as US or GB.", command)
    }
    return text
  }

  /// Returns the values of `--header`, which expire at the date of `--until`.
  func headers() throws -> [StoreHeader] {
    let texts = values(.header)
    let end = try end()
    if end != nil, texts.isEmpty {
      throw Command.mistake("--until sets when headers expire: give them with --header.", command)
    }
    return try texts.map { try header($0, until: end) }
  }

  /// Parses a header. No error message quotes it, because its value may be a secret.
  private func header(_ text: String, until end: Date?) throws -> StoreHeader {
    let parts = text.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
    let isName = parts.first?.utf8.allSatisfy { byte in
      byte > 0x20 && byte < 0x7F && !"()<>@,;\\\"/[]?={}".utf8.contains(byte)
    }
    let isValue = parts.last?.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
    guard parts.count == 2, parts[0] != "", parts[1] != "", isName == true, isValue == true else {
      throw Command.mistake("--header takes a name, a colon and a value: --header 'Signature-Agent: ...'.", command)
    }
    return StoreHeader(name: parts[0], value: parts[1], expiresAt: end)
  }

  /// Returns the end of the day given with `--until`; `nil` if not given.
  func end() throws -> Date? {
    guard let text = options[.until] else { return nil }
    let calendar = Calendar.current
    let day: Date?
    if text.hasSuffix("d"), let days = Int(text.dropLast()), (1...36_500).contains(days) {
      day = calendar.date(byAdding: .day, value: days, to: Date())
    } else {
      day = Moment.date(text)
    }
    guard let day, let next = calendar.date(byAdding: .day, value: 1, to: calendar.startOfDay(for: day)), next > Date()
    else {
      throw Command.mistake("--until takes a number of days such as 90d, or a future date such as 2027-01-31.", command)
    }
    return next
  }
}

extension Moment {
  /// Returns the start of a day such as "2026-01-31" in local time; `nil` for other text.
  static func date(_ text: String) -> Date? {
    let calendar = Calendar.current
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
