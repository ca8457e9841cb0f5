import CofferTerminal
import Foundation
import WatchifyKit

/// Moments as people write them, where they are.
enum Moment {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// "14:32"
  static func time(_ date: Date) -> String {
    let parts = Calendar.current.dateComponents([.hour, .minute], from: date)
    return [parts.hour ?? 0, parts.minute ?? 0].map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
  }

  /// "Today", "Yesterday", "31 Jan 2026"
  static func day(_ date: Date, now: Date = Date()) -> String {
    let calendar = Calendar.current
    if calendar.isDate(date, inSameDayAs: now) { return "Today" }
    if calendar.isDate(date, inSameDayAs: now.addingTimeInterval(-86_400)) { return "Yesterday" }
    let parts = calendar.dateComponents([.year, .month, .day], from: date)
    return "\(parts.day ?? 0) \(months[max(0, min(11, (parts.month ?? 1) - 1))]) \(parts.year ?? 0)"
  }

  /// "14:32", "yesterday 14:32", "31 Jan 2026 14:32"
  static func text(_ date: Date, now: Date = Date()) -> String {
    let day = day(date, now: now)
    return day == "Today" ? time(date) : "\(day == "Yesterday" ? "yesterday" : day) \(time(date))"
  }

  /// "2026-01-31T14:32:07Z"
  static func iso(_ date: Date) -> String { date.formatted(.iso8601) }
}

extension JSON {
  static func date(_ date: Date?) -> JSON { date.map { .text(Moment.iso($0)) } ?? .none }

  /// An exact amount, as text: "164.80".
  static func amount(_ amount: Decimal?) -> JSON { amount.map { .text(exact($0)) } ?? .none }

  static func id(_ id: Int64?) -> JSON { id.map { .number($0) } ?? .none }
}

/// Plain decimal text: "164.80".
func exact(_ amount: Decimal) -> String { Price("\(amount)")?.description ?? "\(amount)" }

/// How far a price moved, in percent: "-33.2".
func percent(_ old: Decimal, _ new: Decimal) -> Double? {
  guard old != 0 else { return nil }
  let share = NSDecimalNumber(decimal: (new - old) * 100 / old).doubleValue
  let rounded = (share * 10).rounded() / 10
  // All of a price is gone only where it is nothing now.
  return new > 0 ? max(rounded, -99.9) : rounded
}

/// "(-33 %)", "(+0.4 %)"; nothing where there is no percentage.
func percentText(_ old: Decimal, _ new: Decimal) -> String {
  guard let share = percent(old, new) else { return "" }
  let magnitude = new > 0 && share < -99 ? 99 : abs(share)
  let digits = magnitude >= 10 ? grouped(Int(min(magnitude.rounded(), 1e15))) : "\(magnitude)".replacing(".0", with: "")
  return " " + "(\(new < old ? "-" : "+")\(digits) %)".glued
}

/// Some of many names: "S, M, L and 51 more".
func some(_ names: [String], of most: Int = 4) -> String {
  let names = names.map { $0.oneLine(limit: 40) }
  guard names.count > most else { return names.joined(separator: ", ") }
  return "\(names.prefix(most - 1).joined(separator: ", ")) and \(grouped(names.count - most + 1)) more"
}

/// What is shown of a title at most: Shopify's own limit, beyond which no title is meant to be read.
let longestTitle = 255
