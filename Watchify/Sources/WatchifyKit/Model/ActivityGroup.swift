import Foundation

/// Events of one product and kind that happened close together: one row of a list.
public struct ActivityGroup: Codable, Hashable, Sendable {
  /// The kinds that a list tells apart.
  public enum Category: String, Codable, CaseIterable, Sendable {
    /// Prices and crossed-out prices.
    case price = "Price"
    /// What can be bought.
    case stock = "Stock"
    /// What is listed, and its pictures.
    case product = "Product"
    /// The store itself.
    case store = "Store"
  }

  /// The events, newest first; never empty.
  public var events: [ChangeEventDTO]

  /// Puts events together that belong to one store, product and category, where each is within the window of the one
  /// before it. The groups are in the order of their newest events.
  /// - Parameters:
  ///   - events: newest first.
  ///   - windowMinutes: how far apart two neighbours may be.
  public static func groups(of events: [ChangeEventDTO], windowMinutes: Int) -> [ActivityGroup] {
    struct Subject: Hashable {
      var store: UUID?
      var product: Int64?
      var category: Category
    }
    var groups: [ActivityGroup] = []
    var open: [Subject: Int] = [:]
    for event in events {
      let subject = Subject(
        store: event.storeId, product: event.productShopifyId, category: event.changeType.category)
      if let index = open[subject], let last = groups[index].events.last,
        last.occurredAt.timeIntervalSince(event.occurredAt) <= Double(windowMinutes) * 60
      {
        groups[index].events.append(event)
      } else {
        open[subject] = groups.count
        groups.append(ActivityGroup(events: [event]))
      }
    }
    return groups
  }
}

extension ChangeType {
  /// Where a list puts it.
  public var category: ActivityGroup.Category {
    switch self {
    case .priceDropped, .priceIncreased, .compareAtChanged: .price
    case .backInStock, .outOfStock: .stock
    case .newProduct, .productRemoved, .productReturned, .imagesChanged, .newVariant: .product
    case .currencyChanged, .storeClosed, .storeReopened: .store
    }
  }
}
