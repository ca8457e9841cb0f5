import Foundation

/// What one store's news reads like (document 2).
extension NotificationContent {
  /// One notification for news of one store; `nil` for none.
  public init?(of changes: [ChangeEventDTO]) {
    guard let first = changes.first else { return nil }
    self.init(
      title: first.storeName ?? "", body: Self.summary(of: changes), threadIdentifier: first.storeId?.uuidString ?? "",
      priority: changes.map(\.priority).max() ?? .active)
  }

  /// "3 price drops, 1 back in stock".
  static func summary(of changes: [ChangeEventDTO]) -> String {
    func count(_ type: ChangeType) -> Int { changes.count { $0.changeType == type } }
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
    ].compactMap { $0 }
    for change in changes {
      switch change.changeType {
      case .currencyChanged: parts.append("prices now in \(change.newValue ?? "another currency")")
      case .storeClosed: parts.append("store closed by password")
      case .storeReopened: parts.append("store open again")
      default: continue
      }
    }
    guard parts.isEmpty else { return parts.joined(separator: ", ") }
    return changes.count == 1 ? "1 change detected" : "\(changes.count) changes detected"
  }
}

extension ChangeEventDTO {
  /// How urgent it is: the most urgent of a store's news decides.
  var priority: NotificationPriority {
    switch (changeType, magnitude) {
    case (.backInStock, _), (.priceDropped, .large): .timeSensitive
    case (.priceDropped, .small), (.imagesChanged, _), (.compareAtChanged, _): .passive
    default: .active
    }
  }
}
