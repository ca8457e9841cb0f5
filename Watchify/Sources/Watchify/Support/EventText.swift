import CofferTerminal
import Foundation
import WatchifyKit

extension ChangeEventDTO {
  /// The beginning of the id, which `watchify read` accepts.
  var shortID: String { id.uuidString.prefix(8).lowercased() }

  /// The event as JSON.
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
      ("wishId", .optional(wishId?.uuidString)),
    ])
  }
}

extension ActivityGroup {
  /// The changes in one line, such as "price down $206.00 -> $137.60 (-33 %): S, M, L and 51 more".
  var text: String { gluedText.loosened }

  /// The same text with no-break spaces within amounts.
  var gluedText: String {
    var parts: [String] = []
    var told: [String] = []
    for type in ChangeType.allCases {
      let events = events.filter { $0.changeType == type }
      let names = events.reversed().compactMap(\.variantTitle)
      guard !events.isEmpty else { continue }
      // A price and a crossed-out price often change together: the same variants are named only once.
      parts.append(Self.text(type, events, names == told ? [] : names))
      told = names
    }
    return parts.joined(separator: "; ")
  }

  private static func text(_ type: ChangeType, _ events: [ChangeEventDTO], _ names: [String]) -> String {
    let sizes = names.isEmpty ? "" : ": \(some(names))"
    guard let event = events.first else { return "" }
    let doubt = ChangeEventDTO.doubt(about: events)
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
    case .storeClosed: return "closed by a password; stored data is kept"
    case .storeReopened: return "open again"
    case .wishFulfilled: return "your wish: \((event.newValue ?? "it came true").oneLine())"
    }
  }

  /// Returns the price change, if it is the same for all events; otherwise the largest one with "at most".
  private static func prices(_ events: [ChangeEventDTO]) -> String {
    let moves = events.compactMap { event -> (text: String, share: Double)? in
      guard let old = event.oldPrice, let new = event.newPrice else { return nil }
      let amounts = "\(Money.text(old, event.currency).glued) -> \(Money.text(new, event.currency).glued)"
      return (" \(amounts)\(percentText(old, new))", abs(percent(old, new) ?? 0))
    }
    guard let largest = moves.max(by: { $0.share < $1.share }) else {
      // A crossed-out price that was added or removed has only one value.
      guard let event = events.first, let value = event.newValue ?? event.oldValue else { return "" }
      return event.newValue == nil ? " gone" : " \(value.oneLine().glued)"
    }
    return moves.allSatisfy { $0.text == largest.text } ? largest.text : "\(largest.text) at most"
  }

  var isUnread: Bool { events.contains { !$0.isRead } }
}
