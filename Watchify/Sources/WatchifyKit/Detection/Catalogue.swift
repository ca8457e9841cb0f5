import Foundation

/// A product as it is in the database: the old side of a comparison.
struct StoredProduct: Equatable, Sendable {
  /// The primary key in the database; 0 for a product that has no row yet.
  var row: Int64 = 0
  var id: Int64
  var title: String
  var handle: String
  var vendor: String?
  var productType: String?
  var publishedAt: Int64?
  var imagePaths: [String]
  /// The number of consecutive complete reads that did not list the product.
  var missingReads = 0
  /// Whether the product counts as removed: no longer listed, its history kept.
  var isRemoved = false
  var variants: [StoredVariant]
}

/// The newest stored values of a variant.
struct StoredVariant: Equatable, Sendable {
  var id: Int64
  var title: String
  var sku: String?
  var price: Price
  var compareAtPrice: Price?
  var available: Bool
  var position: Int
  /// The market that served the values. Values of different markets are not comparable.
  var market = Market()
  /// The number of consecutive reads of the product that did not list the variant, counted up to
  /// `DetectionRules.readsUntilRemoved`.
  var missingReads = 0
  /// The price reported last, or first seen, in the market: the base of the next comparison.
  var reference: ReferencePrice
  /// Whether the last read of the product did not list the variant.
  var isMissing: Bool { missingReads > 0 }
}

/// A price that later prices are compared with.
struct ReferencePrice: Equatable, Sendable {
  var price: Price
  /// The market's exchange rate when the price was served, as a multiple of the rate at the first read.
  var rate = 1.0
}

/// The country and currency that prices belong to. Prices of different markets are not comparable.
struct Market: Equatable, Sendable {
  /// The country that was requested.
  var country: String?
  /// The currency that was served; `nil` if the shop did not state one.
  var currency: String?

  /// Whether prices of the two markets can be compared. A missing currency is taken to be unchanged.
  func isComparable(to other: Market) -> Bool {
    country == other.country && (currency == nil || other.currency == nil || currency == other.currency)
  }
}

/// One change found by a comparison, to be reported as an event.
struct DetectedChange: Equatable, Sendable {
  var type: ChangeType
  var magnitude: ChangeMagnitude = .medium
  var productID: Int64?
  var productTitle = ""
  var variantID: Int64?
  var variantTitle: String?
  var oldPrice: Price?
  var newPrice: Price?
  /// Whether the exchange rate alone may explain the change, or a mistake of the shop a price of zero.
  var isUnsure = false
  /// The old value of a change that is not about a price, such as "3 images".
  var oldText: String?
  var newText: String?
  /// The identifier of the wish that came true.
  var wishID: UUID?
}

/// The result of comparing one read: the rows to write and the changes to report.
struct ChangeSet: Equatable, Sendable {
  /// A product with its current values; only its new or changed variants are included.
  struct ProductChange: Equatable, Sendable {
    var product: StoredProduct
    var isNew: Bool
    /// Whether anything but its variants has changed.
    var isOwnChange = true
    /// The variants that get a new snapshot in their history.
    var snapshots: [Int64]
  }

  /// The maximum number of changes reported for one read. Beyond it, the catalogue as a whole was replaced.
  static let mostNews = 20_000

  var news: [DetectedChange] = []
  var products: [ProductChange] = []
  /// Whether the read is a new baseline, stored without reporting changes because the market or currency changed.
  var isBaseline = false
  /// The market's exchange rate at this read, as a multiple of the rate at the first read.
  var rate = 1.0
  /// The previous market if this read changed it; its values are kept for a return.
  var leftMarket: Market?
  /// The number of listed entries without a readable id that are none of the known products.
  var nameless = 0
  /// Known products that may now be listed without a readable id.
  var withoutID: Set<Int64> = []
  /// Known products that have new ids.
  var renewals: [ProductRenewal] = []
}

/// State of a store that is kept between reads, apart from its products.
struct DetectionMemory: Equatable, Sendable {
  /// The exchange rate at the market's last read, as a multiple of the rate at the first read.
  var rate = 1.0
  /// The time since the market's last read, in seconds.
  var age = 0.0
  /// Whether the market has been read before.
  var isKnownMarket = false
  /// Products first seen since the market's last read and not yet reported.
  var arrivals: Set<Int64> = []
  /// The changes that were reported in other markets since the market's last read.
  var told = ToldElsewhere()
  /// The entries that the last read listed but could not decode.
  var unreadable: Set<UnreadableEntry> = []
  /// The number of listed entries without a readable id that are none of the known products.
  var nameless = 0
}

/// The parameters of a comparison; part of the settings.
struct DetectionRules: Equatable, Sendable {
  /// The number of consecutive complete reads without a product after which it counts as removed.
  var readsUntilRemoved = 2
  /// The largest common price move that is attributed to the exchange rate in a shop that converts its prices, in
  /// percent.
  var convertedPercent: UInt64 = 3
}
