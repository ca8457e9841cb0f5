import Foundation

/// Notification texts for the changes of a store.
extension NotificationContent {
  /// Creates one notification for the changes of one store; `nil` if there are no changes.
  public init?(of changes: [ChangeEventDTO]) {
    guard let first = changes.first else { return nil }
    self.init(
      title: first.storeName ?? "", body: Self.body(of: changes),
      // A wish has its own notification, which the store's next one does not replace.
      threadIdentifier: (changes.allSatisfy { $0.wishId == first.wishId } ? first.wishId : nil)?.uuidString
        ?? first.storeId?.uuidString ?? "",
      priority: changes.map(\.priority).max() ?? .active)
  }

  /// Returns the most important change and a summary of all, such as "Cork Mat: $67.90, was $97.00 · 3 price drops".
  /// The summary is omitted if all changes are of one kind and one product.
  private static func body(of changes: [ChangeEventDTO]) -> String {
    let summary = summary(of: changes)
    let named = changes.filter { $0.changeType.category != .store }
    if let wish = wishes(in: changes) { return wish }
    guard let most = named.max(by: { $0.isLessImportant(than: $1) }) else { return summary }
    let own = named.filter { $0.isSameNews(as: most) }
    var lead = most
    // A value that changed several times since the last delivery is compared with its value before the first change.
    if let first = own.first(where: { $0.variantShopifyId == most.variantShopifyId }),
      let last = own.last(where: { $0.variantShopifyId == most.variantShopifyId })
    {
      (lead.oldValue, lead.newValue) = (first.oldValue, last.newValue)
    }
    let isOneVariant = own.allSatisfy { $0.variantShopifyId == most.variantShopifyId }
    let sentence = lead.sentence(namesVariant: isOneVariant)
    return own.count == changes.count ? sentence : "\(sentence) · \(summary)"
  }

  /// Returns the news of a wish, such as "Cork Mat, Large: $67.90, below your $70.00 · lowest since 12 Aug (90 days)";
  /// `nil` if there is other news as well.
  private static func wishes(in changes: [ChangeEventDTO]) -> String? {
    guard let first = changes.first, changes.allSatisfy({ $0.changeType == .wishFulfilled }) else { return nil }
    let others = Set(changes.compactMap(\.productShopifyId)).count - 1
    return first.sentence(namesVariant: true) + (others > 0 ? " · and \(others) more" : "")
  }

  /// Returns the number of products per kind of change, such as "3 price drops, 1 back in stock": the body of a
  /// notification without the most important change. Variants of a product count once.
  public static func summary(of changes: [ChangeEventDTO]) -> String {
    func count(_ type: ChangeType) -> Int {
      let own = changes.filter { $0.changeType == type }
      return Set(own.compactMap(\.productShopifyId)).count + own.count { $0.productShopifyId == nil }
    }
    func words(_ type: ChangeType, _ one: String, _ many: String? = nil) -> String? {
      let number = count(type)
      return number == 0 ? nil : "\(number) \(number == 1 ? one : many ?? one)"
    }
    var parts = [
      words(.priceDropped, "price drop", "price drops"), words(.priceIncreased, "price increase", "price increases"),
      words(.backInStock, "back in stock"), words(.outOfStock, "out of stock"),
      words(.newProduct, "new product", "new products"),
      words(.productRemoved, "product removed", "products removed"),
      words(.productReturned, "product returned", "products returned"),
      words(.newVariant, "new variant", "new variants"),
      words(.compareAtChanged, "list price changed", "list prices changed"),
      words(.imagesChanged, "product with pictures changed", "products with pictures changed"),
      words(.wishFulfilled, "wish came true", "wishes came true"),
    ].compactMap { $0 }
    for change in changes {
      switch change.changeType {
      case .currencyChanged: parts.append("prices now in \(change.newValue ?? "another currency")")
      case .storeClosed: parts.append("store closed by password")
      case .storeReopened: parts.append("store open again")
      default: continue
      }
    }
    return parts.joined(separator: ", ")
  }
}

extension ChangeEventDTO {
  /// The urgency of the change; a notification has that of its most urgent change.
  var priority: NotificationPriority {
    switch (changeType, magnitude) {
    case (.wishFulfilled, _), (.backInStock, _), (.priceDropped, .large): .timeSensitive
    case (.priceDropped, .small), (.imagesChanged, _), (.compareAtChanged, _): .passive
    default: .active
    }
  }

  /// Whether both are changes of the same kind and of the same product.
  fileprivate func isSameNews(as other: Self) -> Bool {
    changeType == other.changeType
      && (productShopifyId == nil ? id == other.id : productShopifyId == other.productShopifyId)
  }

  fileprivate func isLessImportant(than other: Self) -> Bool {
    let isWish = changeType == .wishFulfilled
    guard isWish == (other.changeType == .wishFulfilled) else { return !isWish }
    guard priority == other.priority else { return priority < other.priority }
    guard changeType == other.changeType else { return changeType.code > other.changeType.code }
    return share < other.share
  }

  /// Returns a clause such as ", perhaps by the exchange rate" about price changes of which all are unsure; otherwise
  /// an empty text.
  public static func doubt(about events: [ChangeEventDTO]) -> String {
    guard !events.contains(where: { !$0.isUnsure }) else { return "" }
    let isFree = events.contains { $0.oldPrice == 0 || $0.newPrice == 0 }
    return isFree ? ", perhaps a mistake of the shop" : ", perhaps by the exchange rate"
  }

  /// The size of a price change as a fraction of the old price.
  private var share: Decimal {
    guard let oldPrice, let newPrice, oldPrice > 0 else { return 0 }
    return abs(newPrice - oldPrice) / oldPrice
  }

  /// Returns the change as text, such as "Cork Mat: $67.90, was $97.00" or "Cork Mat, Large: back in stock".
  func sentence(namesVariant: Bool) -> String {
    let title = productTitle.count > 80 ? productTitle.prefix(79) + "…" : productTitle[...]
    let variant = namesVariant ? variantTitle.map { ", \($0.prefix(40))" } ?? "" : ""
    return "\(title)\(variant): \(words)"
  }

  private var words: String {
    switch changeType {
    case .priceDropped, .priceIncreased:
      guard let newValue, let oldValue else { return changeType == .priceDropped ? "price drop" : "price increase" }
      return "\(newValue), was \(oldValue)\(Self.doubt(about: [self]))"
    case .backInStock: return "back in stock"
    case .outOfStock: return "out of stock"
    case .newProduct: return "new product"
    case .productRemoved: return "product removed"
    case .productReturned: return "product returned"
    case .newVariant: return "new variant"
    case .compareAtChanged: return newValue.map { "list price now \($0)" } ?? "no list price any more"
    case .imagesChanged: return "pictures changed"
    case .wishFulfilled: return newValue ?? "your wish came true"
    case .currencyChanged, .storeClosed, .storeReopened: return ""
    }
  }
}
