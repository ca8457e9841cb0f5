import Coffer
import CofferCore
import CofferTerminal
import Foundation

extension Invocation {
  /// Returns the date of `--expires`: a number of seconds, minutes, hours, days or weeks from now, or a date.
  func expiry(now: Date = Date()) throws -> Date? {
    guard let text = options[.expires] else { return nil }
    if let seconds = Self.seconds(text) { return now + seconds }
    guard let date = DateText.date(text) else {
      throw Command.mistake(
        "\(Option.expires.name) takes a time such as 90s, 15m, 2h or 7d, or a date such as 2026-11-21T09:00:00Z.",
        command)
    }
    return date
  }

  private static func seconds(_ text: String) -> TimeInterval? {
    let units: [Character: TimeInterval] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
    guard let unit = text.last.flatMap({ units[$0] }), let number = UInt32(text.dropLast()) else { return nil }
    return TimeInterval(number) * unit
  }
}

extension ValueAttributes {
  /// The member that `--json` prints for a value that expires.
  var expiryMembers: [(StaticString, JSON)] {
    guard let expires else { return [] }
    return [("expires", .text(expires.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))))]
  }
}
