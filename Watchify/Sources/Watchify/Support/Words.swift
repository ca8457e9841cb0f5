import CofferTerminal
import Foundation
import WatchifyKit

/// Formatting of dates in local time.
enum Moment {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns a time such as "14:32".
  static func time(_ date: Date) -> String {
    let parts = Calendar.current.dateComponents([.hour, .minute], from: date)
    return [parts.hour ?? 0, parts.minute ?? 0].map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
  }

  /// Returns a day such as "Today", "Yesterday" or "31 Jan 2026".
  static func day(_ date: Date, now: Date = Date()) -> String {
    let calendar = Calendar.current
    if calendar.isDate(date, inSameDayAs: now) { return "Today" }
    if calendar.isDate(date, inSameDayAs: now.addingTimeInterval(-86_400)) { return "Yesterday" }
    let parts = calendar.dateComponents([.year, .month, .day], from: date)
    return "\(parts.day ?? 0) \(months[max(0, min(11, (parts.month ?? 1) - 1))]) \(parts.year ?? 0)"
  }

  /// Returns a date such as "14:32", "yesterday 14:32" or "31 Jan 2026 14:32".
  static func text(_ date: Date, now: Date = Date()) -> String {
    let day = day(date, now: now)
    return day == "Today" ? time(date) : "\(day == "Yesterday" ? "yesterday" : day) \(time(date))"
  }

  /// Returns a date in ISO 8601, such as "2026-01-31T14:32:07Z".
  static func iso(_ date: Date) -> String { date.formatted(.iso8601) }
}

extension JSON {
  static func date(_ date: Date?) -> JSON { date.map { .text(Moment.iso($0)) } ?? .none }

  /// Returns an exact amount as a JSON string, such as "164.80".
  static func amount(_ amount: Decimal?) -> JSON { amount.map { .text(exact($0)) } ?? .none }

  static func id(_ id: Int64?) -> JSON { id.map { .number($0) } ?? .none }
}

/// Returns an exact amount as decimal text, such as "164.80".
func exact(_ amount: Decimal) -> String { Price("\(amount)")?.description ?? "\(amount)" }

/// Returns the change of a price in percent, such as -33.2; `nil` if the old price is zero.
func percent(_ old: Decimal, _ new: Decimal) -> Double? {
  guard old != 0 else { return nil }
  let share = NSDecimalNumber(decimal: (new - old) * 100 / old).doubleValue
  let rounded = (share * 10).rounded() / 10
  // Only a new price of zero is a change of -100 %.
  return new > 0 ? max(rounded, -99.9) : rounded
}

/// Returns the change of a price as text, such as " (-33 %)" or " (+0.4 %)"; empty if the old price is zero.
func percentText(_ old: Decimal, _ new: Decimal) -> String {
  guard let share = percent(old, new) else { return "" }
  let magnitude = new > 0 && share < -99 ? 99 : abs(share)
  let digits = magnitude >= 10 ? grouped(Int(min(magnitude.rounded(), 1e15))) : "\(magnitude)".replacing(".0", with: "")
  return " " + "(\(new < old ? "-" : "+")\(digits) %)".glued
}

/// Returns the first names and the number of the others, such as "S, M, L and 51 more".
func some(_ names: [String], of most: Int = 4) -> String {
  let names = names.map { $0.oneLine(limit: 40) }
  guard names.count > most else { return names.joined(separator: ", ") }
  return "\(names.prefix(most - 1).joined(separator: ", ")) and \(grouped(names.count - most + 1)) more"
}

/// The maximum displayed length of a title in characters, which is also Shopify's limit.
let longestTitle = 255
