public import Foundation

/// A source of products.
///
/// ``ShopifyClient`` implements it over the network. A test double only needs to implement ``fetchProducts(domain:)``;
/// unless empty, its result counts as a complete read in an unknown currency.
///
/// A wrapper must forward the ``requestGate`` of the wrapped source, so that pauses after refusals continue to double,
/// also after a restart.
public protocol ShopifyAPIProtocol: Sendable {
  /// The gate that serializes the requests; `nil` if there is none. Stored refusals are restored into it, and new ones
  /// are read from it.
  var requestGate: RequestGate? { get }
  /// Returns all products of a shop.
  /// - Throws: ``SyncFailure``, ``SyncError``, `URLError` or ``ShopifyAPIError``.
  func fetchProducts(domain: String) async throws -> [ShopifyProduct]
  /// Returns all products of a shop with details of the read, such as its completeness and currency.
  func read(_ request: ShopRequest) async throws -> ShopReading
  /// Returns the shop's description of itself, which is requested when a store is added.
  func describe(_ request: ShopRequest) async throws -> ShopDescription
}

extension ShopifyAPIProtocol {
  public var requestGate: RequestGate? { nil }

  public func read(_ request: ShopRequest) async throws -> ShopReading {
    let products = try await fetchProducts(domain: request.domain)
    return ShopReading(products: products, isComplete: !products.isEmpty)
  }

  public func describe(_ request: ShopRequest) async throws -> ShopDescription { ShopDescription() }
}

/// A request for the products of a shop.
public struct ShopRequest: Sendable {
  /// The host, with the port unless it is the default one: "allbirds.com", "127.0.0.1:8080". Loopback addresses are
  /// requested over plain HTTP.
  public var domain: String
  /// The country whose market is requested, as an ISO 3166 code, sent as `?country=`. If `nil`, the shop chooses.
  public var country: String?
  /// Additional headers, such as those with which a shop's owner grants access.
  public var headers: [(name: String, value: String)]
  /// The known products that are not missing. If a listing lacks some of them, further pages are requested.
  public var knownIDs: Set<Int64>
  /// The validators of the pages of the last complete read, in order. If no page has changed, no products are returned.
  public var validators: [PageValidator] = []
  /// The currency of the last read. Pages that are unchanged but in another currency are returned.
  public var currency: String?
  /// A closure called after each page, with the number of products so far and the page number.
  public var progress: (@Sendable (_ products: Int, _ page: Int) -> Void)?

  /// Creates a request.
  public init(
    domain: String, country: String? = nil, headers: [(name: String, value: String)] = [],
    knownIDs: Set<Int64> = [], progress: (@Sendable (Int, Int) -> Void)? = nil
  ) {
    self.domain = domain
    self.country = country
    self.headers = headers
    self.knownIDs = knownIDs
    self.progress = progress
  }
}

/// The result of reading a shop's listing.
public struct ShopReading: Sendable {
  /// The products without duplicates, in the order of the listing.
  public var products: [ShopifyProduct]
  /// Whether the listing was read to its end. Only then is an absent product missing.
  public var isComplete: Bool
  /// Whether an incomplete read is valid as far as it goes, as of a shop that serves only its first 25,000 products.
  /// Any other incomplete read was interrupted and must not change anything.
  public var isLimited = false
  /// The reason why the read is incomplete, as a sentence for display; `nil` if it is complete.
  public var incompleteReason: String?
  /// The currency of the prices according to the response (`cart_currency`), as an ISO 4217 code; `nil` if not stated.
  public var currency: String?
  /// The host that responded, after redirects within the same site, with the port unless it is the default one.
  public var host: String?
  /// The number of pages read.
  public var pages: Int
  /// The number of bytes received, unpacked.
  public var bytes: Int
  /// The number of products and variants that were skipped because they could not be decoded.
  public var broken: Int
  /// Whether all pages are unchanged since the last complete read. `products` is empty then.
  public var isUnchanged = false
  /// The validators of the pages, in order; empty unless every page has one.
  public var validators: [PageValidator] = []
  /// The listed entries with a readable id that could not be decoded. They count as unknown, not as missing.
  public var unreadable: Set<UnreadableEntry> = []
  /// The number of listed products without a readable id.
  public var nameless = 0

  /// Creates a reading.
  public init(
    products: [ShopifyProduct], isComplete: Bool, incompleteReason: String? = nil, currency: String? = nil,
    host: String? = nil, pages: Int = 1, bytes: Int = 0, broken: Int = 0
  ) {
    self.products = products
    self.isComplete = isComplete
    self.incompleteReason = incompleteReason
    self.currency = currency
    self.host = host
    self.pages = pages
    self.bytes = bytes
    self.broken = broken
  }
}

/// A listed product or variant that could not be decoded.
public struct UnreadableEntry: Hashable, Sendable {
  /// The `variant` of an entry for a variant without a readable id.
  public static let namelessVariant: Int64 = -1
  /// The `variant` of an entry for a product that may be listed without a readable id.
  static let withoutID: Int64 = -2

  /// The product's identifier in the shop.
  public var product: Int64
  /// The variant's identifier in the shop; 0 for the whole product.
  public var variant: Int64

  /// Creates an entry.
  public init(product: Int64, variant: Int64 = 0) {
    self.product = product
    self.variant = variant
  }
}

/// The contents of a shop's `/meta.json`. Every part may be missing.
public struct ShopDescription: Sendable {
  /// The display name of the shop.
  public var name: String?
  /// The shop's own country, as an ISO 3166 code.
  public var country: String?
  /// The currency in which the shop keeps its prices, as an ISO 4217 code; the served one may differ.
  public var currency: String?
  /// The shop's Shopify domain, such as "allbirds.myshopify.com".
  public var shopifyDomain: String?
  /// The number of products according to the shop. Not reliable.
  public var productCount: Int?

  /// Creates a description.
  public init(
    name: String? = nil, country: String? = nil, currency: String? = nil, shopifyDomain: String? = nil,
    productCount: Int? = nil
  ) {
    self.name = name
    self.country = country
    self.currency = currency
    self.shopifyDomain = shopifyDomain
    self.productCount = productCount
  }
}

/// A product of a feed.
public struct ShopifyProduct: Hashable, Sendable {
  /// The identifier in the shop.
  public var id: Int64
  /// The title.
  public var title: String
  /// The handle, the last component of the product page's address.
  public var handle: String
  /// The manufacturer or brand.
  public var vendor: String?
  /// The shop's product category.
  public var productType: String?
  /// The date on which the shop created the product.
  public var createdAt: Date?
  /// The date on which the shop published the product.
  public var publishedAt: Date?
  /// The images, in the feed's order.
  public var images: [ShopifyImage]
  /// The variants, in the feed's order.
  public var variants: [ShopifyVariant]

  /// Creates a product.
  public init(
    id: Int64, title: String, handle: String, vendor: String? = nil, productType: String? = nil,
    createdAt: Date? = nil, publishedAt: Date? = nil, images: [ShopifyImage] = [], variants: [ShopifyVariant]
  ) {
    self.id = id
    self.title = title
    self.handle = handle
    self.vendor = vendor
    self.productType = productType
    self.createdAt = createdAt
    self.publishedAt = publishedAt
    self.images = images
    self.variants = variants
  }
}

/// An image of a product.
public struct ShopifyImage: Hashable, Sendable {
  /// The address, including a query that changes whenever the shop edits the image.
  public var src: String

  /// Creates an image.
  public init(src: String) { self.src = src }

  /// The address without its query, which identifies the image.
  public var path: String { src.firstIndex(of: "?").map { String(src[..<$0]) } ?? src }
}

/// A variant of a product, such as a size or colour.
public struct ShopifyVariant: Hashable, Sendable {
  /// The identifier in the shop.
  public var id: Int64
  /// The title, which distinguishes the variant from the product's others.
  public var title: String
  /// The stock-keeping unit, the shop's own article number.
  public var sku: String?
  /// The price.
  public var price: Price
  /// The crossed-out price as served. Only one above `price` is a discount.
  public var compareAtPrice: Price?
  /// Whether the variant is available.
  public var available: Bool
  /// The position among the product's variants, from 1.
  public var position: Int

  /// Creates a variant.
  public init(
    id: Int64, title: String, sku: String? = nil, price: Price, compareAtPrice: Price? = nil, available: Bool,
    position: Int = 1
  ) {
    self.id = id
    self.title = title
    self.sku = sku
    self.price = price
    self.compareAtPrice = compareAtPrice
    self.available = available
    self.position = position
  }
}

/// The reason why a response was not a product listing.
public enum ShopifyAPIError: Error, Hashable, Sendable {
  /// An HTTP status other than success.
  case httpError(statusCode: Int)
  /// A body that is not a product listing.
  case invalidResponse
}
