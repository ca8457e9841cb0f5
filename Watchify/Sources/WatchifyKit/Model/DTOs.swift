public import Foundation

/// A followed store (document 2).
public struct StoreDTO: Codable, Hashable, Identifiable, Sendable {
  /// Its id.
  public var id: UUID
  /// What it is called.
  public var name: String
  /// Its address.
  public var domain: String
  /// Since when it is followed.
  public var addedAt: Date
  /// When it was read last with success; its data is of then.
  public var lastFetchedAt: Date?
  /// When it was asked last, with or without success.
  public var lastAttemptAt: Date?
  /// Whether it is being read.
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
  /// How many listed products were left out of the last read because they could not be read.
  public var unreadableProducts = 0
  /// The same for variants of products that could be read.
  public var unreadableVariants = 0
}

/// A product in a list (document 2).
public struct ProductDTO: Codable, Hashable, Identifiable, Sendable {
  /// Its number in the shop.
  public var id: Int64 { shopifyId }
  /// Its number in the shop.
  public var shopifyId: Int64
  /// Its title.
  public var title: String
  /// Its name in addresses.
  public var handle: String
  /// Its first picture.
  public var imageURL: String?
  /// The price of its first variant, in `currency`.
  public var cachedPrice: Decimal
  /// The currency that the store served last.
  public var currency: String?
  /// Whether any variant can be bought.
  public var cachedIsAvailable: Bool
  /// When it was seen first.
  public var firstSeenAt: Date
}

/// A variant of a product, with its newest values.
public struct VariantDTO: Codable, Hashable, Identifiable, Sendable {
  /// Its number in the shop.
  public var id: Int64
  /// `nil` for a product's only variant.
  public var title: String?
  /// The shop's own number of it.
  public var sku: String?
  /// Its price.
  public var price: Decimal
  /// The crossed-out price, where it is a discount: above the price.
  public var compareAtPrice: Decimal?
  /// Whether it can be bought.
  public var available: Bool
  /// Whether the last read was without it.
  public var isMissing: Bool
  /// Its values from first sight on, oldest first: each holds until the next.
  public var history: [SnapshotDTO]
}

/// The values of a variant from a moment on.
public struct SnapshotDTO: Codable, Hashable, Sendable {
  /// From when on they hold.
  public var capturedAt: Date
  /// The price.
  public var price: Decimal
  /// The crossed-out price as it was served.
  public var compareAtPrice: Decimal?
  /// Whether it could be bought.
  public var available: Bool
  /// The currency of both prices.
  public var currency: String?
}

/// A product with all that is known of it.
public struct ProductDetailDTO: Codable, Hashable, Sendable {
  /// What a list shows of it.
  public var product: ProductDTO
  /// Who makes it.
  public var vendor: String?
  /// What kind of thing it is.
  public var productType: String?
  /// Whether it is no longer listed.
  public var isRemoved: Bool
  /// Its pictures, in the shop's order.
  public var imageURLs: [String]
  /// Its page in the shop.
  public var url: String
  /// Its variants, those that are listed first.
  public var variants: [VariantDTO]
}

/// One piece of news (document 2).
public struct ChangeEventDTO: Codable, Hashable, Identifiable, Sendable {
  /// Its id.
  public var id: UUID
  /// What kind of news it is.
  public var changeType: ChangeType
  /// The product's title at that time; empty for news of the store.
  public var productTitle: String
  /// `nil` for a product's only variant.
  public var variantTitle: String?
  /// What was, in words: "$100.00", "3 images".
  public var oldValue: String?
  /// What is, in words.
  public var newValue: String?
  /// New minus old, in `currency`.
  public var priceChange: Decimal?
  /// How large it is.
  public var magnitude: ChangeMagnitude = .small
  /// The product's number in the shop.
  public var productShopifyId: Int64?
  /// The variant's number in the shop.
  public var variantShopifyId: Int64?
  /// The product's first picture.
  public var productImageURL: String?
  /// When it was found.
  public var occurredAt: Date
  /// Whether it was read.
  public var isRead = false
  /// The store.
  public var storeId: UUID?
  /// What the store is called.
  public var storeName: String?
  /// The currency of its prices.
  public var currency: String?
  /// The prices themselves, where there are some.
  public var oldPrice: Decimal?
  /// The price that is.
  public var newPrice: Decimal?
  /// Whether the exchange rate alone may have moved the price: the shop lists too few to tell.
  public var isUnsure = false
}

/// Which products a list shows, by stock.
public enum StockScope: String, Codable, CaseIterable, Sendable {
  /// All products.
  case all = "All"
  /// Those that can be bought.
  case inStock = "In Stock"
  /// Those that cannot.
  case outOfStock = "Out of Stock"
}

/// The order of a list of products.
public enum ProductSort: String, Codable, CaseIterable, Sendable {
  /// By title.
  case name = "Name"
  /// Cheapest first.
  case priceLowHigh = "Price: Low to High"
  /// Dearest first.
  case priceHighLow = "Price: High to Low"
  /// Newest first, by their publication.
  case recentlyAdded = "Recently Added"
}
