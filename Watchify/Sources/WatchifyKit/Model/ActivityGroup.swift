import Foundation

/// Events of one product and category that occurred close together: one row of a list.
public struct ActivityGroup: Codable, Hashable, Sendable {
  /// The categories that a list distinguishes.
  public enum Category: String, Codable, CaseIterable, Sendable {
    /// Prices and crossed-out prices.
    case price = "Price"
    /// Availability.
    case stock = "Stock"
    /// Listed products, variants and their images.
    case product = "Product"
    /// The store itself.
    case store = "Store"
    /// Wishes that came true.
    case wish = "Wish"
  }

  /// The events, newest first; never empty.
  public var events: [ChangeEventDTO]

  /// Groups events of the same store, product and category where each is within the window of the one before it. The
  /// groups are ordered by their newest events.
  /// - Parameters:
  ///   - events: newest first.
  ///   - windowMinutes: the largest distance between two neighbouring events of a group, in minutes.
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
  /// The category under which a list shows the change.
  public var category: ActivityGroup.Category {
    switch self {
    case .priceDropped, .priceIncreased, .compareAtChanged: .price
    case .backInStock, .outOfStock: .stock
    case .newProduct, .productRemoved, .productReturned, .imagesChanged, .newVariant: .product
    case .currencyChanged, .storeClosed, .storeReopened: .store
    case .wishFulfilled: .wish
    }
  }
}
