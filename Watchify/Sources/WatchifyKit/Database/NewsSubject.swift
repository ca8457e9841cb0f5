import CofferSQLite
import Foundation

/// What the events of a kind are about: of several undelivered ones with one subject, only the newest is news.
struct NewsSubject: Hashable {
  /// The kinds of events that replace each other.
  enum Kind: String {
    case price = "1, 2"
    case stock = "3, 4"
    case listing = "6, 8"
    case wish = "14"
  }

  let kind: Kind
  let store: Int64
  let product: Int64
  /// The variant; `nil` for a listing and a wish.
  let variant: Int64?
  /// The wish; `nil` for the other kinds.
  let wish: String?

  /// Creates the subject of an event; `nil` for one that stands for itself.
  init?(_ type: ChangeType?, store: Int64, product: Int64?, variant: Int64?, wish: String?) {
    guard let product else { return nil }
    switch type {
    case .priceDropped, .priceIncreased: kind = .price
    case .backInStock, .outOfStock: kind = .stock
    case .productRemoved, .productReturned: kind = .listing
    case .wishFulfilled: kind = .wish
    default: return nil
    }
    (self.store, self.product) = (store, product)
    self.variant = kind == .price || kind == .stock ? variant : nil
    self.wish = kind == .wish ? wish : nil
    guard variant != nil || kind == .listing || kind == .wish else { return nil }
  }

  init?(of event: ChangeEventDTO, store: Int64) {
    self.init(
      event.changeType, store: store, product: event.productShopifyId, variant: event.variantShopifyId,
      wish: event.wishId?.uuidString)
  }

  /// An SQL condition for the events `e` with this subject, with the parameters ?1 to ?4.
  var condition: String {
    let rest =
      switch kind {
      case .price, .stock: "e.variant = ?3 AND ?4 IS NULL"
      case .listing: "?3 IS NULL AND ?4 IS NULL"
      case .wish: "?3 IS NULL AND e.wish = ?4"
      }
    return "e.store = ?1 AND e.product = ?2 AND e.type IN (\(kind.rawValue)) AND \(rest)"
  }

  /// The values of the parameters ?1 to ?4.
  var values: [SQLiteValue] {
    [.integer(store), .integer(product), .optional(variant), .optional(wish)]
  }
}
