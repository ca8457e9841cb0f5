public import Foundation

/// A followed store (document 2).
public struct StoreDTO: Codable, Hashable, Identifiable, Sendable {
  public var id: UUID
  public var name: String
  public var domain: String
  public var addedAt: Date
  /// When it was read last with success; its data is of then.
  public var lastFetchedAt: Date?
  /// When it was asked last, with or without success.
  public var lastAttemptAt: Date?
  public var isSyncing = false
  /// How many products it lists.
  public var cachedProductCount = 0
  /// The first pictures of its first products.
  public var cachedPreviewImageURLs: [String] = []
  /// The market that is asked for.
  public var country: String?
  /// The currency that was served last.
  public var currency: String?
  /// Why the last attempt failed, for an honest banner after a restart.
  public var lastSyncError: SyncError?
  /// The same in words.
  public var lastError: String? {
    lastSyncError.map { [$0.errorDescription, $0.failureReason].compactMap { $0 }.joined(separator: ": ") }
  }
  /// Whether the store is closed by a password.
  public var isClosed = false
}

/// A product in a list (document 2).
public struct ProductDTO: Codable, Hashable, Identifiable, Sendable {
  public var id: Int64 { shopifyId }
  public var shopifyId: Int64
  public var title: String
  public var handle: String
  public var imageURL: String?
  /// The price of its first variant, in `currency`.
  public var cachedPrice: Decimal
  /// The currency that the store served last.
  public var currency: String?
  /// Whether any variant can be bought.
  public var cachedIsAvailable: Bool
  public var firstSeenAt: Date
}

/// A variant of a product, with its newest values.
public struct VariantDTO: Codable, Hashable, Identifiable, Sendable {
  public var id: Int64
  /// `nil` for a product's only variant.
  public var title: String?
  public var sku: String?
  public var price: Decimal
  /// The crossed-out price, where it is a discount: above the price.
  public var compareAtPrice: Decimal?
  public var available: Bool
  /// Whether the last read was without it.
  public var isMissing: Bool
  /// Its values from first sight on, oldest first: each holds until the next.
  public var history: [SnapshotDTO]
}

/// The values of a variant from a moment on.
public struct SnapshotDTO: Codable, Hashable, Sendable {
  public var capturedAt: Date
  public var price: Decimal
  public var compareAtPrice: Decimal?
  public var available: Bool
  public var currency: String?
}

/// A product with all that is known of it.
public struct ProductDetailDTO: Codable, Hashable, Sendable {
  public var product: ProductDTO
  public var vendor: String?
  public var productType: String?
  public var isRemoved: Bool
  public var imageURLs: [String]
  /// Its page in the shop.
  public var url: String
  public var variants: [VariantDTO]
}

/// One piece of news (document 2).
public struct ChangeEventDTO: Codable, Hashable, Identifiable, Sendable {
  public var id: UUID
  public var changeType: ChangeType
  public var productTitle: String
  /// `nil` for a product's only variant.
  public var variantTitle: String?
  /// What was, in words: "$100.00", "3 images".
  public var oldValue: String?
  public var newValue: String?
  /// New minus old, in `currency`.
  public var priceChange: Decimal?
  public var magnitude: ChangeMagnitude = .small
  public var productShopifyId: Int64?
  public var variantShopifyId: Int64?
  public var productImageURL: String?
  public var occurredAt: Date
  public var isRead = false
  public var storeId: UUID?
  public var storeName: String?
  public var currency: String?
  /// The prices themselves, where there are some.
  public var oldPrice: Decimal?
  public var newPrice: Decimal?
}

/// Which products a list shows, by stock.
public enum StockScope: String, Codable, CaseIterable, Sendable {
  case all = "All"
  case inStock = "In Stock"
  case outOfStock = "Out of Stock"
}

/// The order of a list of products.
public enum ProductSort: String, Codable, CaseIterable, Sendable {
  case name = "Name"
  case priceLowHigh = "Price: Low to High"
  case priceHighLow = "Price: High to Low"
  case recentlyAdded = "Recently Added"
}
