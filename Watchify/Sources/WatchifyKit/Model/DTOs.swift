public import Foundation

/// A followed store.
public struct StoreDTO: Codable, Hashable, Identifiable, Sendable {
  /// The identifier that this application assigned.
  public var id: UUID
  /// The display name.
  public var name: String
  /// The address: host and port, if not the default one.
  public var domain: String
  /// The date since which the store is followed.
  public var addedAt: Date
  /// The date of the last successful sync, to which the data belongs; `nil` before it.
  public var lastFetchedAt: Date?
  /// The date of the last sync attempt, successful or not.
  public var lastAttemptAt: Date?
  /// Whether a sync is in progress.
  public var isSyncing = false
  /// The number of listed products.
  public var cachedProductCount = 0
  /// The first image of each of the first products.
  public var cachedPreviewImageURLs: [String] = []
  /// The country whose market is requested; `nil` for the shop's default.
  public var country: String?
  /// The currency of the last sync.
  public var currency: String?
  /// The error of the last sync attempt; `nil` if it succeeded. Kept across restarts.
  public var lastSyncFailure: SyncFailure?
  /// The description of `lastSyncFailure`.
  public var lastError: String? {
    lastSyncFailure.map { [$0.errorDescription, $0.failureReason].compactMap { $0 }.joined(separator: ": ") }
  }
  /// Whether the store is closed by a password.
  public var isClosed = false
  /// The number of listed products that the last sync skipped because they could not be decoded.
  public var unreadableProducts = 0
  /// The number of undecodable variants of products that could be decoded.
  public var unreadableVariants = 0

  /// Creates a store from its values, for example for a preview or a test.
  public init(
    id: UUID, name: String, domain: String, addedAt: Date, lastFetchedAt: Date? = nil, lastAttemptAt: Date? = nil,
    isSyncing: Bool = false, cachedProductCount: Int = 0, cachedPreviewImageURLs: [String] = [], country: String? = nil,
    currency: String? = nil, lastSyncFailure: SyncFailure? = nil, isClosed: Bool = false, unreadableProducts: Int = 0,
    unreadableVariants: Int = 0
  ) {
    self.id = id
    self.name = name
    self.domain = domain
    self.addedAt = addedAt
    self.lastFetchedAt = lastFetchedAt
    self.lastAttemptAt = lastAttemptAt
    self.isSyncing = isSyncing
    self.cachedProductCount = cachedProductCount
    self.cachedPreviewImageURLs = cachedPreviewImageURLs
    self.country = country
    self.currency = currency
    self.lastSyncFailure = lastSyncFailure
    self.isClosed = isClosed
    self.unreadableProducts = unreadableProducts
    self.unreadableVariants = unreadableVariants
  }
}

/// A product in a list.
public struct ProductDTO: Codable, Hashable, Identifiable, Sendable {
  /// The identifier in the shop; equal to `shopifyId`.
  public var id: Int64 { shopifyId }
  /// The identifier in the shop.
  public var shopifyId: Int64
  /// The title.
  public var title: String
  /// The handle, the last component of the product page's address.
  public var handle: String
  /// The address of the first image.
  public var imageURL: String?
  /// The price of the first variant, in `currency`.
  public var cachedPrice: Decimal
  /// The currency of the store's last sync.
  public var currency: String?
  /// Whether any variant is available.
  public var cachedIsAvailable: Bool
  /// The date of the first sync that listed the product.
  public var firstSeenAt: Date
  /// The longest period, of 30 days, 90 days and ever, in which the price is the lowest after a higher one; `nil` if
  /// there is none.
  public var lowest: LowestPrice?

  /// Creates a product from its values, for example for a preview or a test.
  public init(
    shopifyId: Int64, title: String, handle: String, imageURL: String? = nil, cachedPrice: Decimal,
    currency: String? = nil, cachedIsAvailable: Bool, firstSeenAt: Date,
    lowest: LowestPrice? = nil
  ) {
    self.shopifyId = shopifyId
    self.title = title
    self.handle = handle
    self.imageURL = imageURL
    self.cachedPrice = cachedPrice
    self.currency = currency
    self.cachedIsAvailable = cachedIsAvailable
    self.firstSeenAt = firstSeenAt
    self.lowest = lowest
  }
}

/// A variant of a product, with its newest values.
public struct VariantDTO: Codable, Hashable, Identifiable, Sendable {
  /// The identifier in the shop.
  public var id: Int64
  /// The title; `nil` for a product's only variant.
  public var title: String?
  /// The stock-keeping unit, the shop's own article number.
  public var sku: String?
  /// The price.
  public var price: Decimal
  /// The crossed-out price; `nil` unless it is above the price.
  public var compareAtPrice: Decimal?
  /// Whether the variant is available.
  public var available: Bool
  /// Whether the last sync did not list the variant.
  public var isMissing: Bool
  /// The values since the first sync, oldest first; each is valid until the next.
  public var history: [SnapshotDTO]
  /// The lowest price of the last 30 and 90 days and ever, in this order, in the currency of the price.
  public var lowest: [LowestPrice]
  /// The longest of these periods in which the price is the lowest after a higher one; `nil` if there is none.
  public var notableLowest: LowestPrice?

  /// Creates a variant from its values, for example for a preview or a test.
  public init(
    id: Int64, title: String? = nil, sku: String? = nil, price: Decimal, compareAtPrice: Decimal? = nil,
    available: Bool, isMissing: Bool, history: [SnapshotDTO], lowest: [LowestPrice] = [],
    notableLowest: LowestPrice? = nil
  ) {
    self.id = id
    self.title = title
    self.sku = sku
    self.price = price
    self.compareAtPrice = compareAtPrice
    self.available = available
    self.isMissing = isMissing
    self.history = history
    self.lowest = lowest
    self.notableLowest = notableLowest
  }
}

/// The values of a variant from a point in time.
public struct SnapshotDTO: Codable, Hashable, Sendable {
  /// The date from which the values are valid.
  public var capturedAt: Date
  /// The price.
  public var price: Decimal
  /// The crossed-out price as served.
  public var compareAtPrice: Decimal?
  /// Whether the variant was available.
  public var available: Bool
  /// The currency of both prices.
  public var currency: String?

  /// Creates a snapshot from its values, for example for a preview or a test.
  public init(
    capturedAt: Date, price: Decimal, compareAtPrice: Decimal? = nil, available: Bool, currency: String? = nil
  ) {
    self.capturedAt = capturedAt
    self.price = price
    self.compareAtPrice = compareAtPrice
    self.available = available
    self.currency = currency
  }
}

/// A product with all its stored details.
public struct ProductDetailDTO: Codable, Hashable, Sendable {
  /// The values that a list shows.
  public var product: ProductDTO
  /// The manufacturer or brand.
  public var vendor: String?
  /// The shop's product category.
  public var productType: String?
  /// Whether the product is no longer listed.
  public var isRemoved: Bool
  /// The addresses of the images, in the shop's order.
  public var imageURLs: [String]
  /// The address of the product page.
  public var url: String
  /// The variants, listed ones before missing ones.
  public var variants: [VariantDTO]

  /// Creates a product with its details from its values, for example for a preview or a test.
  public init(
    product: ProductDTO, vendor: String? = nil, productType: String? = nil, isRemoved: Bool, imageURLs: [String],
    url: String, variants: [VariantDTO]
  ) {
    self.product = product
    self.vendor = vendor
    self.productType = productType
    self.isRemoved = isRemoved
    self.imageURLs = imageURLs
    self.url = url
    self.variants = variants
  }
}

/// A change of a store or product, as an event.
public struct ChangeEventDTO: Codable, Hashable, Identifiable, Sendable {
  /// The identifier of the event.
  public var id: UUID
  /// The kind of change.
  public var changeType: ChangeType
  /// The product's title at that time; empty for an event of the store.
  public var productTitle: String
  /// The variant's title; `nil` for a product's only variant.
  public var variantTitle: String?
  /// The old value as text, such as "$100.00" or "3 images".
  public var oldValue: String?
  /// The new value as text.
  public var newValue: String?
  /// The new price minus the old price, in `currency`.
  public var priceChange: Decimal?
  /// The size of the change.
  public var magnitude: ChangeMagnitude = .small
  /// The product's identifier in the shop.
  public var productShopifyId: Int64?
  /// The variant's identifier in the shop.
  public var variantShopifyId: Int64?
  /// The address of the product's first image.
  public var productImageURL: String?
  /// The date of the sync that found the change.
  public var occurredAt: Date
  /// Whether the event is marked as read.
  public var isRead = false
  /// The identifier of the store.
  public var storeId: UUID?
  /// The display name of the store.
  public var storeName: String?
  /// The currency of the prices.
  public var currency: String?
  /// The old price; `nil` if the change is not about a price.
  public var oldPrice: Decimal?
  /// The new price; `nil` if the change is not about a price.
  public var newPrice: Decimal?
  /// Whether the exchange rate alone may explain the change, because too few prices were compared, or the price is or
  /// was zero, which may be a mistake of the shop.
  public var isUnsure = false
  /// The identifier of the wish that came true; `nil` for other changes.
  public var wishId: UUID?

  /// Creates a change from its values, for example for a preview or a test.
  public init(
    id: UUID, changeType: ChangeType, productTitle: String, variantTitle: String? = nil, oldValue: String? = nil,
    newValue: String? = nil, priceChange: Decimal? = nil, magnitude: ChangeMagnitude = .small,
    productShopifyId: Int64? = nil, variantShopifyId: Int64? = nil, productImageURL: String? = nil, occurredAt: Date,
    isRead: Bool = false, storeId: UUID? = nil, storeName: String? = nil, currency: String? = nil,
    oldPrice: Decimal? = nil, newPrice: Decimal? = nil, isUnsure: Bool = false, wishId: UUID? = nil
  ) {
    self.id = id
    self.changeType = changeType
    self.productTitle = productTitle
    self.variantTitle = variantTitle
    self.oldValue = oldValue
    self.newValue = newValue
    self.priceChange = priceChange
    self.magnitude = magnitude
    self.productShopifyId = productShopifyId
    self.variantShopifyId = variantShopifyId
    self.productImageURL = productImageURL
    self.occurredAt = occurredAt
    self.isRead = isRead
    self.storeId = storeId
    self.storeName = storeName
    self.currency = currency
    self.oldPrice = oldPrice
    self.newPrice = newPrice
    self.isUnsure = isUnsure
    self.wishId = wishId
  }
}

/// A filter of products by availability.
public enum StockScope: String, Codable, CaseIterable, Sendable {
  /// All products.
  case all = "All"
  /// Products with an available variant.
  case inStock = "In Stock"
  /// Products without an available variant.
  case outOfStock = "Out of Stock"
}

/// The order of a list of products.
public enum ProductSort: String, Codable, CaseIterable, Sendable {
  /// By title.
  case name = "Name"
  /// Cheapest first.
  case priceLowHigh = "Price: Low to High"
  /// Most expensive first.
  case priceHighLow = "Price: High to Low"
  /// Newest first, by date of publication.
  case recentlyAdded = "Recently Added"
}
