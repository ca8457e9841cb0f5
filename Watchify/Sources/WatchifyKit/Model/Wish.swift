public import Foundation

/// What a wish is about.
public enum WishScope: Codable, Hashable, Sendable {
  /// Any variant of a product.
  case product(storeId: UUID, productId: Int64)
  /// One variant of a product.
  case variant(storeId: UUID, productId: Int64, variantId: Int64)
  /// Every product whose title contains all words of a text, without regard to case and accents; in all stores if
  /// `storeId` is `nil`, including stores that are added later.
  case search(storeId: UUID?, text: String)

  /// The store; `nil` for a search in all stores.
  public var storeId: UUID? {
    switch self {
    case .product(let store, _), .variant(let store, _, _): store
    case .search(let store, _): store
    }
  }

  /// The product's identifier in the shop; `nil` for a search.
  public var productId: Int64? {
    switch self {
    case .product(_, let product), .variant(_, let product, _): product
    case .search: nil
    }
  }
}

/// What must hold for a wish to be true. Sold-out variants do not count: a wish is about what can be bought.
public enum WishCondition: Codable, Hashable, Sendable {
  /// An available variant costs at most this much, in the currency in which the wish was made.
  case priceAtMost(Decimal)
  /// An available variant costs at least this many percent, 1 to 99, less than when the percentage was wished. The
  /// crossed-out price of a shop is not used, because a shop may set it to any amount; only for a variant that was
  /// first listed after the wish it counts, if it is above the first price.
  case percentOff(Int)
  /// A variant is available.
  case backInStock
  /// A product that matches the search is listed for the first time. Only for searches.
  case newMatch

  /// Whether the condition is about a price.
  public var isAboutPrice: Bool {
    switch self {
    case .priceAtMost, .percentOff: true
    case .backInStock, .newMatch: false
    }
  }

  var isPercentage: Bool { if case .percentOff = self { true } else { false } }
}

/// The reason why a wish cannot be judged at present. It is neither true nor reset meanwhile.
public enum WishObstacle: Codable, Hashable, Sendable {
  /// The shop serves prices in this currency, not in that of the wish.
  case otherCurrency(String)
  /// The shop no longer lists the product or the variant.
  case notListed
  /// In one shop, more than this many products fulfil the wish: which of them come true is not known. It is judged
  /// again when fewer do, or after the wish is narrowed.
  case tooManyMatches(Int)
}

/// A wish, with its state at the last read.
public struct WishDTO: Codable, Hashable, Identifiable, Sendable {
  /// The identifier.
  public var id: UUID
  /// What the wish is about.
  public var scope: WishScope
  /// What must hold.
  public var condition: WishCondition
  /// The date on which the wish was made.
  public var createdAt: Date
  /// The date from which the wish is no longer judged; `nil` if it does not expire.
  public var expiresAt: Date?
  /// Whether the wish was true at the last read; `false` for an expired wish and one that cannot be judged.
  public var isTrue: Bool
  /// The last date on which the wish came true, or was true when it was made.
  public var lastTrueAt: Date?
  /// The display name of the store; `nil` for a search in all stores.
  public var storeName: String?
  /// The product's title; `nil` for a search.
  public var productTitle: String?
  /// The variant's title; `nil` for other scopes and for a product's only variant.
  public var variantTitle: String?
  /// The currency of the prices; `nil` if it is unknown or differs between stores.
  public var currency: String?
  /// The reason why the wish cannot be judged at present; `nil` if it can.
  public var obstacle: WishObstacle?
  /// The number of products that fulfil the wish at present.
  public var matchCount: Int
  /// The product's handle; `nil` for a search.
  public var productHandle: String?
  /// The lowest price of a variant in the scope that can be bought; `nil` for a search or if none can.
  public var currentPrice: Decimal?
  /// The price at most which the wish demands, also for a percentage; `nil` for a percentage of variants with
  /// different prices, of a search, and for other conditions.
  public var targetPrice: Decimal?

  /// Returns whether the wish has expired at a date.
  public func isExpired(at date: Date) -> Bool { expiresAt.map { $0 <= date } ?? false }

  /// Creates a wish from its values, for example for a preview or a test.
  public init(
    id: UUID, scope: WishScope, condition: WishCondition, createdAt: Date, expiresAt: Date? = nil, isTrue: Bool = false,
    lastTrueAt: Date? = nil, storeName: String? = nil, productTitle: String? = nil, variantTitle: String? = nil,
    currency: String? = nil, obstacle: WishObstacle? = nil, matchCount: Int = 0, productHandle: String? = nil,
    currentPrice: Decimal? = nil, targetPrice: Decimal? = nil
  ) {
    self.id = id
    self.scope = scope
    self.condition = condition
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.isTrue = isTrue
    self.lastTrueAt = lastTrueAt
    self.storeName = storeName
    self.productTitle = productTitle
    self.variantTitle = variantTitle
    self.currency = currency
    self.obstacle = obstacle
    self.matchCount = matchCount
    self.productHandle = productHandle
    self.currentPrice = currentPrice
    self.targetPrice = targetPrice
  }
}

/// A product that a wish is about.
public struct WishMatchDTO: Codable, Hashable, Identifiable, Sendable {
  /// The product with its store.
  public var listed: ListedProductDTO
  /// Whether the product fulfils the wish at present.
  public var isFulfilled: Bool

  /// The identity of the product.
  public var id: ListedProductDTO.ID { listed.id }

  /// Creates a match from its values, for example for a preview or a test.
  public init(listed: ListedProductDTO, isFulfilled: Bool) {
    self.listed = listed
    self.isFulfilled = isFulfilled
  }
}
