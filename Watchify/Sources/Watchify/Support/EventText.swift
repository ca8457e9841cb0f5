import CofferTerminal
import Foundation
import WatchifyKit

extension ChangeEventDTO {
  /// The word that `watchify read` takes.
  var shortID: String { id.uuidString.prefix(8).lowercased() }

  /// For scripts.
  var json: JSON {
    let share = oldPrice.flatMap { old in newPrice.flatMap { percent(old, $0) } }
    return .object([
      ("id", .text(id.uuidString)), ("type", .text(changeType.rawValue)), ("at", .date(occurredAt)),
      ("isRead", .flag(isRead)), ("storeId", .optional(storeId?.uuidString)), ("store", .optional(storeName)),
      ("productId", .id(productShopifyId)), ("product", .text(productTitle)),
      ("variantId", .id(variantShopifyId)), ("variant", .optional(variantTitle)),
      ("magnitude", .text(magnitude.rawValue)), ("currency", .optional(currency)),
      ("oldPrice", .amount(oldPrice)), ("newPrice", .amount(newPrice)),
      ("percent", share.map { .literal("\($0)") } ?? .none),
      ("oldValue", .optional(oldValue)), ("newValue", .optional(newValue)), ("isUnsure", .flag(isUnsure)),
    ])
  }
}

extension ActivityGroup {
  /// What happened, in one line: "price down $206.00 -> $137.60 (-33 %): S, M, L and 51 more".
  var text: String { gluedText.loosened }

  /// The same with amounts at whose blanks no line is broken.
  var gluedText: String {
    var parts: [String] = []
    var told: [String] = []
    for type in ChangeType.allCases {
      let events = events.filter { $0.changeType == type }
      let names = events.reversed().compactMap(\.variantTitle)
      guard !events.isEmpty else { continue }
      // A lower price often comes with another crossed-out one: the same sizes are named once.
      parts.append(Self.text(type, events, names == told ? [] : names))
      told = names
    }
    return parts.joined(separator: "; ")
  }

  private static func text(_ type: ChangeType, _ events: [ChangeEventDTO], _ names: [String]) -> String {
    let sizes = names.isEmpty ? "" : ": \(some(names))"
    guard let event = events.first else { return "" }
    let doubt = events.contains { !$0.isUnsure } ? "" : ", perhaps by the exchange rate"
    switch type {
    case .priceDropped: return "price down\(prices(events))\(doubt)\(sizes)"
    case .priceIncreased: return "price up\(prices(events))\(doubt)\(sizes)"
    case .compareAtChanged: return "list price\(prices(events))\(sizes)"
    case .backInStock: return "back in stock\(sizes)"
    case .outOfStock: return "sold out\(sizes)"
    case .newProduct: return "new\(event.newPrice.map { " at \(Money.text($0, event.currency).glued)" } ?? "")"
    case .productRemoved: return "no longer sold"
    case .productReturned: return "sold again"
    case .newVariant: return "now also\(names.isEmpty ? " in another form" : " in \(some(names))")"
    case .imagesChanged: return "pictures changed"
    case .currencyChanged: return "prices now in \((event.newValue ?? "another currency").oneLine())"
    case .storeClosed: return "closed by a password; what is known stays"
    case .storeReopened: return "open again"
    }
  }

  /// One price for all, or from the largest move to the smallest.
  private static func prices(_ events: [ChangeEventDTO]) -> String {
    let moves = events.compactMap { event -> (text: String, share: Double)? in
      guard let old = event.oldPrice, let new = event.newPrice else { return nil }
      let amounts = "\(Money.text(old, event.currency).glued) -> \(Money.text(new, event.currency).glued)"
      return (" \(amounts)\(percentText(old, new))", abs(percent(old, new) ?? 0))
    }
    guard let largest = moves.max(by: { $0.share < $1.share }) else {
      // A crossed-out price that came or went has one side only.
      guard let event = events.first, let value = event.newValue ?? event.oldValue else { return "" }
      return event.newValue == nil ? " gone" : " \(value.oneLine().glued)"
    }
    return moves.allSatisfy { $0.text == largest.text } ? largest.text : "\(largest.text) at most"
  }

  var isUnread: Bool { events.contains { !$0.isRead } }
}
