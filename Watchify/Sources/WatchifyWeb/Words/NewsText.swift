import CofferTerminal
import Foundation
import WatchifyKit

/// The wording of news.
enum NewsText {
  /// Returns the changes of a row, one element for each kind of change.
  static func changes(_ group: ActivityGroup) -> HTML {
    var all = HTML()
    var told: [String] = []
    for type in ChangeType.allCases {
      let events = group.events.filter { $0.changeType == type }
      guard let event = events.first else { continue }
      let names = events.reversed().compactMap(\.variantTitle)
      // A price and a crossed-out price often change together: the same variants are named only once.
      let shown = names == told ? [] : names
      told = names
      all.append(
        tag(.span, .class("change")) {
          change(type, event, events)
          if !shown.isEmpty {
            tag(.span, .class("sizes")) {
              " "
              some(shown)
            }
          }
        })
    }
    return all
  }

  private static func change(_ type: ChangeType, _ event: ChangeEventDTO, _ events: [ChangeEventDTO]) -> HTML {
    switch type {
    case .priceDropped: return price("Price down", "down", events)
    case .priceIncreased: return price("Price up", "up", events)
    case .compareAtChanged: return price("List price", nil, events)
    case .backInStock: return kind("Back in stock", "good")
    case .outOfStock: return kind("Sold out")
    case .newProduct:
      return pieces {
        kind("New", "good")
        if let price = event.newPrice {
          " at "
          amount(price, event.currency)
        }
      }
    case .productRemoved: return kind("No longer sold")
    case .productReturned: return kind("Sold again", "good")
    case .newVariant: return kind("New in this product", "good")
    case .imagesChanged: return kind("Pictures changed")
    case .currencyChanged: return kind("Prices now in \(ShopMarkup.plain(event.newValue ?? "another currency"))")
    case .storeClosed: return kind("Closed by a password; stored data is kept")
    case .storeReopened: return kind("Open again", "good")
    case .wishFulfilled: return kind("Your wish: \(ShopMarkup.plain(event.newValue ?? "it came true"))", "good")
    }
  }

  private static func kind(_ text: String, _ look: String? = nil) -> HTML {
    tag(.span, .class(look.map { "kind \($0)" } ?? "kind")) { text }
  }

  /// Returns the largest move of several events, which usually have the same prices.
  private static func price(_ words: String, _ look: String?, _ events: [ChangeEventDTO]) -> HTML {
    let moves = events.compactMap { event in
      event.oldPrice.flatMap { old in event.newPrice.map { (old: old, new: $0, currency: event.currency) } }
    }
    guard let largest = moves.max(by: { abs(share($0.old, $0.new) ?? 0) < abs(share($1.old, $1.new) ?? 0) }) else {
      let event = events.first
      let value = event?.newPrice ?? event?.oldPrice
      return pieces {
        kind(event?.newPrice == nil ? "\(words) gone" : words, look)
        if let value {
          " "
          amount(value, event?.currency)
        }
      }
    }
    let isOne = moves.allSatisfy { $0.old == largest.old && $0.new == largest.new }
    return pieces {
      kind(words, look)
      " "
      tag(.del, .class("amount")) {
        hidden("from ")
        Money.text(largest.old, largest.currency)
      }
      " "
      tag(.strong, .class("amount")) {
        hidden("to ")
        Money.text(largest.new, largest.currency)
      }
      if let percent = percent(largest.old, largest.new) {
        " "
        tag(.span, .class("percent")) { percent }
      }
      if !isOne { " at most" }
      ChangeEventDTO.doubt(about: events)
    }
  }

  /// Returns an amount of money whose digits have equal widths.
  static func amount(_ amount: Decimal, _ currency: String?) -> HTML {
    tag(.span, .class("amount")) { Money.text(amount, currency) }
  }

  /// Returns a text for screen readers only.
  static func hidden(_ text: String) -> HTML { tag(.span, .class("hidden")) { text } }

  /// Returns the change of a price in percent; `nil` if the old price is zero.
  static func share(_ old: Decimal, _ new: Decimal) -> Double? {
    guard old != 0 else { return nil }
    let share = NSDecimalNumber(decimal: (new - old) * 100 / old).doubleValue
    let rounded = (share * 10).rounded() / 10
    // Only a new price of zero is a change of -100 %.
    return new > 0 ? max(rounded, -99.9) : rounded
  }

  /// Returns the change of a price, such as "−33 %"; `nil` if the old price is zero.
  static func percent(_ old: Decimal, _ new: Decimal) -> String? {
    guard let share = share(old, new) else { return nil }
    let magnitude = new > 0 && share < -99 ? 99 : abs(share)
    let digits =
      magnitude >= 10 ? grouped(Int(min(magnitude.rounded(), 1e15))) : "\(magnitude)".replacing(".0", with: "")
    return "\(new < old ? "−" : "+")\(digits)\u{A0}%"
  }

  /// Returns the first names and the number of the others, such as "S, M, L and 51 more".
  static func some(_ names: [String], of most: Int = 4) -> HTML {
    let shown = names.count > most ? Array(names.prefix(most - 1)) : names
    return pieces {
      for (index, name) in shown.enumerated() {
        if index > 0 { ", " }
        ShopMarkup.text(name, limit: 40)
      }
      if names.count > shown.count { " and \(grouped(names.count - shown.count)) more" }
    }
  }
}
