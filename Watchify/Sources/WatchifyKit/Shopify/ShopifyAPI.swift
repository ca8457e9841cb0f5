public import Foundation

/// Where products come from (document 2).
///
/// ``ShopifyClient`` is the real one. A stand-in in a test implements ``fetchProducts(domain:)`` alone; its answer then
/// counts as a complete read in an unknown currency unless it is empty.
///
/// Something in front of another one passes on its ``requestGate``, so that the pause after a refusal doubles as behind
/// it, also after a restart.
public protocol ShopifyAPIProtocol: Sendable {
  /// What the requests go through, if they go through one: it learns of the refusals that are stored, and tells how
  /// often it was refused.
  var requestGate: RequestGate? { get }
  /// All products of a shop.
  /// - Throws: ``SyncError``, `URLError` or ``ShopifyAPIError``.
  func fetchProducts(domain: String) async throws -> [ShopifyProduct]
  /// All products of a shop with what the shop said about the read itself.
  func read(_ request: ShopRequest) async throws -> ShopReading
  /// What a shop says of itself, asked when it is added.
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

/// What is asked of a shop.
public struct ShopRequest: Sendable {
  /// Host, and port if it is not the usual one: "allbirds.com", "127.0.0.1:8080". Loopback is asked over plain HTTP.
  public var domain: String
  /// The market whose prices are asked for, as an ISO 3166 code: sent as `?country=`. `nil` lets the shop guess.
  public var country: String?
  /// Further headers, such as those by which a shop's owner lets a reader in.
  public var headers: [(name: String, value: String)]
  /// Products that are known and not missing. A read that lacks some of them looks one page further.
  public var knownIDs: Set<Int64>
  /// The validators of the pages of the last whole read, in their order. If all of them still hold, nothing is read.
  public var validators: [PageValidator] = []
  /// What is told while pages arrive: products so far, page number.
  public var progress: (@Sendable (_ products: Int, _ page: Int) -> Void)?

  /// A request.
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

/// What one walk through a shop's listing brought.
public struct ShopReading: Sendable {
  /// Each product once, in the order of the listing.
  public var products: [ShopifyProduct]
  /// Whether the listing was read to its end: only then does a missing product mean anything.
  public var isComplete: Bool
  /// Whether what was read is right although more may be listed: a shop that serves only its first 25,000 products. Any
  /// other incomplete read broke off, and changes nothing.
  public var isLimited = false
  /// Why it is not complete, in a sentence for people.
  public var incompleteReason: String?
  /// The currency of the prices as the shop said with the answer (`cart_currency`), as an ISO 4217 code.
  public var currency: String?
  /// The host that answered in the end, after redirects within the same site; with its port if it is not the usual one.
  public var host: String?
  /// How many pages were read and how many bytes came.
  public var pages: Int
  /// How many bytes came.
  public var bytes: Int
  /// How many products and variants were left out because they could not be read.
  public var broken: Int
  /// Whether the shop says of every page that it is as it was at the last whole read. There are no products then.
  public var isUnchanged = false
  /// The validators of the pages, in their order; none where a page had none.
  public var validators: [PageValidator] = []
  /// What was listed and could not be read, as far as it has an id: unknown, not gone.
  public var unreadable: Set<UnreadableEntry> = []
  /// How many listed products could not be read, their ids included.
  public var nameless = 0

  /// A reading.
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

/// A product or a variant that was listed and could not be read.
public struct UnreadableEntry: Hashable, Sendable {
  /// Stands for a variant whose id cannot be read either.
  public static let namelessVariant: Int64 = -1
  /// Instead of a variant's id: the product may be one that is listed without a readable id.
  static let withoutID: Int64 = -2

  /// The product's number in the shop.
  public var product: Int64
  /// The variant's number in the shop; 0 for the whole product.
  public var variant: Int64

  /// An entry.
  public init(product: Int64, variant: Int64 = 0) {
    self.product = product
    self.variant = variant
  }
}

/// What `/meta.json` says of a shop; every part may be missing.
public struct ShopDescription: Sendable {
  /// The shop's name for people.
  public var name: String?
  /// Where it is at home, as an ISO 3166 code.
  public var country: String?
  /// The currency that it keeps its prices in; the served one may differ.
  public var currency: String?
  /// Its address inside Shopify: "allbirds.myshopify.com".
  public var shopifyDomain: String?
  /// How many products it says it has. Not to be relied on.
  public var productCount: Int?

  /// A description.
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
  /// Its number in the shop.
  public var id: Int64
  /// Its title.
  public var title: String
  /// Its name in addresses.
  public var handle: String
  /// Who makes it.
  public var vendor: String?
  /// What kind of thing it is.
  public var productType: String?
  /// When the shop made it.
  public var createdAt: Date?
  /// When the shop published it.
  public var publishedAt: Date?
  /// In the feed's order.
  public var images: [ShopifyImage]
  /// In the feed's order.
  public var variants: [ShopifyVariant]

  /// A product.
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

/// A picture of a product.
public struct ShopifyImage: Hashable, Sendable {
  /// Its whole address, with the query that changes whenever the shop touches it.
  public var src: String

  /// A picture.
  public init(src: String) { self.src = src }

  /// The address without its query: what tells whether it is another picture.
  public var path: String { src.firstIndex(of: "?").map { String(src[..<$0]) } ?? src }
}

/// One size, colour or other form of a product that can be bought.
public struct ShopifyVariant: Hashable, Sendable {
  /// Its number in the shop.
  public var id: Int64
  /// What tells it from the others.
  public var title: String
  /// The shop's own number of it.
  public var sku: String?
  /// Its price.
  public var price: Price
  /// The crossed-out price as the feed has it; only one above `price` means a discount.
  public var compareAtPrice: Price?
  /// Whether it can be bought.
  public var available: Bool
  /// Its place among the others, from 1.
  public var position: Int

  /// A variant.
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

/// What a shop's answer was when it was no list of products (document 2).
public enum ShopifyAPIError: Error, Hashable, Sendable {
  /// Another status than success.
  case httpError(statusCode: Int)
  /// Bytes that are no list of products.
  case invalidResponse
}
