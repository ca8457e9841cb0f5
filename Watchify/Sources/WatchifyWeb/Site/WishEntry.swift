import Foundation
import WatchifyKit

/// What was entered into a form for a wish.
struct WishEntry: Sendable {
  var store = ""
  var product = ""
  var variant = ""
  var search = ""
  var kind = "price"
  var amount = ""
  var currency = ""
  var until = ""

  init() {}

  /// Creates the entry that describes a wish.
  init(_ wish: WishDTO, _ moments: Moments) {
    switch wish.condition {
    case .priceAtMost(let price): (kind, amount, currency) = ("price", "\(price)", wish.currency ?? "")
    case .percentOff(let percent): (kind, amount) = ("percent", String(percent))
    case .backInStock: kind = "stock"
    case .newMatch: kind = "new"
    }
    until = wish.expiresAt.map { moments.isoDay($0.addingTimeInterval(-1)) } ?? ""
  }

  init(_ form: [(name: String, value: String)]) {
    for (name, value) in form {
      let value = String(value.trimmingCharacters(in: .whitespacesAndNewlines).prefix(400))
      switch name {
      case "store": store = value
      case "product": product = value
      case "variant": variant = value
      case "q": search = value
      case "kind": kind = value
      case "amount": amount = value
      case "currency": currency = value.uppercased()
      case "until": until = value
      default: break
      }
    }
  }

  /// Returns what the wish is about.
  func scope(_ stores: [StoreDTO]) throws -> WishScope {
    let known = store.isEmpty ? nil : try knownStore(store, stores)
    guard let id = Int64(product) else { return .search(storeId: known?.id, text: search) }
    guard let known else { throw SiteProblem.noShop }
    guard let variant = Int64(variant) else { return .product(storeId: known.id, productId: id) }
    return .variant(storeId: known.id, productId: id, variantId: variant)
  }

  /// What must hold.
  var condition: WishCondition {
    get throws {
      switch kind {
      case "stock": return .backInStock
      case "new": return .newMatch
      case "percent":
        guard let percent = Int(amount.replacing("%", with: "").trimmingCharacters(in: .whitespaces)) else {
          throw Self.problem("Enter the percentage as a whole number, such as 20.")
        }
        return .percentOff(percent)
      case "price":
        guard let price = Price(entered: amount) else {
          throw Self.problem("Enter the price as a number, such as 179.90.")
        }
        return .priceAtMost(price.decimal)
      default: throw SiteProblem.value("kind", kind, "price, percent, stock or new")
      }
    }
  }

  /// Returns the end of the day on which the wish expires; `nil` if it does not expire.
  func expiry(_ moments: Moments) throws -> Date? {
    guard !until.isEmpty else { return nil }
    guard let day = moments.date(until), let end = moments.calendar.date(byAdding: .day, value: 1, to: day) else {
      throw Self.problem("Enter the date as 2027-01-31, or leave it empty.")
    }
    return end
  }

  private static func problem(_ text: String) -> SiteProblem {
    SiteProblem(status: 422, title: "The wish is incomplete", text: "\(text) Nothing was changed.")
  }
}
