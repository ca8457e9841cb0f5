import CofferTerminal
import Foundation
import WatchifyKit

extension WishDTO {
  /// The beginning of the id, which the commands accept.
  var shortID: String { id.uuidString.prefix(8).lowercased() }

  /// What the wish is about, such as "Cork Mat, Large" or "search “rain jacket”".
  var subject: String {
    if case .search(_, let text) = scope { return "search “\(text.oneLine())”" }
    let title = (productTitle ?? "a product").oneLine(limit: longestTitle)
    if case .variant = scope, let variantTitle { return "\(title), \(variantTitle.oneLine(limit: 64))" }
    return title
  }

  /// What must hold, such as "$70.00 or less".
  var conditionText: String {
    switch condition {
    case .priceAtMost(let price): return "\(Money.text(price, currency)) or less"
    case .percentOff(let percent):
      let target = targetPrice.map { ": \(Money.text($0, currency)) or less" } ?? ""
      return "\(percent) % off\(target)"
    case .backInStock: return "in stock"
    case .newMatch: return "new"
    }
  }

  /// The state at a date, such as "true since 12 Aug 2026" or "not yet: $97.90".
  func state(at date: Date) -> String {
    if isExpired(at: date) { return "expired" }
    switch obstacle {
    case .otherCurrency(let served): return "cannot be judged: prices are in \(served)"
    case .notListed: return "cannot be judged: no longer listed"
    case .tooManyMatches(let most): return "cannot be judged: more than \(most) products of a shop fulfil it"
    case nil: break
    }
    guard isTrue else { return currentPrice.map { "not yet: \(Money.text($0, currency))" } ?? "not yet" }
    if case .search = scope { return "true for \(counted(matchCount, "product"))" }
    return currentPrice.map { "true: \(Money.text($0, currency))" } ?? "true"
  }

  /// The wish in one sentence, such as "Cork Mat, Large, $70.00 or less, until 31 Jan 2027 (not yet: $97.90)".
  func sentence(at date: Date) -> String {
    let end = expiresAt.map { ", until \(Moment.day($0.addingTimeInterval(-1), now: date))" } ?? ""
    return "\(subject), \(conditionText)\(end) (\(state(at: date)))"
  }

  /// The members of the wish's JSON object.
  var members: [(StaticString, JSON)] {
    var (variant, search): (Int64?, String?) = (nil, nil)
    if case .variant(_, _, let id) = scope { variant = id }
    if case .search(_, let text) = scope { search = text }
    let kind: String
    var (price, percent): (Decimal?, Int?) = (nil, nil)
    switch condition {
    case .priceAtMost(let amount): (kind, price) = ("priceAtMost", amount)
    case .percentOff(let number): (kind, percent) = ("percentOff", number)
    case .backInStock: kind = "backInStock"
    case .newMatch: kind = "newMatch"
    }
    let problem: String? =
      switch obstacle {
      case .otherCurrency: "otherCurrency"
      case .notListed: "notListed"
      case .tooManyMatches: "tooManyMatches"
      case nil: nil
      }
    return [
      ("id", .text(id.uuidString)), ("storeId", .optional(scope.storeId?.uuidString)), ("store", .optional(storeName)),
      ("productId", .id(scope.productId)), ("product", .optional(productTitle)), ("variantId", .id(variant)),
      ("variant", .optional(variantTitle)), ("search", .optional(search)), ("condition", .text(kind)),
      ("price", .amount(price)), ("percent", percent.map { .number($0) } ?? .none), ("currency", .optional(currency)),
      ("targetPrice", .amount(targetPrice)), ("currentPrice", .amount(currentPrice)), ("isTrue", .flag(isTrue)),
      ("matches", .number(matchCount)), ("obstacle", .optional(problem)), ("createdAt", .date(createdAt)),
      ("expiresAt", .date(expiresAt)), ("isExpired", .flag(isExpired(at: Date()))), ("lastTrueAt", .date(lastTrueAt)),
    ]
  }
}

extension LowestPrice {
  /// The price as JSON.
  var json: JSON {
    .object([
      ("days", days.map { .number($0) } ?? .none), ("start", .date(start)), ("price", .amount(price)),
      ("since", .date(since)),
    ])
  }
}
