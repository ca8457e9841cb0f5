/// What is stored of a store's products: one side of a comparison.
struct StoredProduct: Equatable, Sendable {
  /// Its row in the database; 0 in tests that have none.
  var row: Int64 = 0
  var id: Int64
  var title: String
  var handle: String
  var vendor: String?
  var productType: String?
  var publishedAt: Int64?
  var imagePaths: [String]
  /// How many complete reads in a row have not had it.
  var missingReads = 0
  /// Whether it counts as removed: no longer listed, its history kept.
  var isRemoved = false
  var variants: [StoredVariant]
}

/// What is stored of a variant: its newest values.
struct StoredVariant: Equatable, Sendable {
  var id: Int64
  var title: String
  var sku: String?
  var price: Price
  var compareAtPrice: Price?
  var available: Bool
  var position: Int
  /// In which market its values are what they are; what another market serves cannot be compared with them.
  var market = Market()
  /// How many reads of its product in a row were without it; counted up to those after which it is gone.
  var missingReads = 0
  /// The price that was told last or seen first in its market.
  var reference: ReferencePrice
  /// Whether the last read of its product was without it.
  var isMissing: Bool { missingReads > 0 }
}

/// A price that later ones are compared with.
struct ReferencePrice: Equatable, Sendable {
  var price: Price
  /// The market's exchange rate when it was served, as a multiple of that of the first read.
  var rate = 1.0
}

/// In which market and currency prices are what they are. Across a change of it nothing can be compared.
struct Market: Equatable, Sendable {
  /// The country that was asked for.
  var country: String?
  /// The currency that was served; `nil` when the shop said nothing.
  var currency: String?

  /// Whether prices of another read can be compared: a shop that says nothing is taken to serve what it served.
  func isComparable(to other: Market) -> Bool {
    country == other.country && (currency == nil || other.currency == nil || currency == other.currency)
  }
}

/// One piece of news.
struct DetectedChange: Equatable, Sendable {
  var type: ChangeType
  var magnitude: ChangeMagnitude = .medium
  var productID: Int64?
  var productTitle = ""
  var variantID: Int64?
  var variantTitle: String?
  var oldPrice: Price?
  var newPrice: Price?
  /// Whether the exchange rate may have made it: too few prices tell the two apart.
  var isUnsure = false
  /// Where there are no prices to tell: "3 images".
  var oldText: String?
  var newText: String?
}

/// Everything that one read changes: what to write, and what to tell.
struct ChangeSet: Equatable, Sendable {
  /// A product with the values that it has now; its variants are those that are new or changed.
  struct ProductChange: Equatable, Sendable {
    var product: StoredProduct
    var isNew: Bool
    /// The variants that get a point in their history.
    var snapshots: [Int64]
  }

  /// Pieces of news of one read at most: a shop of which more has changed at once is another one, whatever it says.
  static let mostNews = 20_000

  var news: [DetectedChange] = []
  var products: [ProductChange] = []
  /// Whether everything was taken as it is without news, because market or currency changed.
  var isBaseline = false
  /// The market's exchange rate now, as a multiple of that of the first read.
  var rate = 1.0
  /// The market that was left for another one; what it had is kept for the return.
  var leftMarket: Market?
  /// How many products without a readable id the shop lists anyway.
  var nameless = 0
  /// Known products that may be listed without a readable id now.
  var withoutID: Set<Int64> = []
}

/// What is remembered of a store beside its products.
struct DetectionMemory: Equatable, Sendable {
  /// The exchange rate of the market's last read, as a multiple of that of the first.
  var rate = 1.0
  /// How many seconds ago the market was read last.
  var age = 0.0
  /// Whether the market was read before.
  var isKnownMarket = false
  /// Products that were seen first since the market was read last, and that nobody was told of.
  var arrivals: Set<Int64> = []
  /// What the last read listed and could not read.
  var unreadable: Set<UnreadableEntry> = []
  /// How many products without a readable id the shop lists anyway.
  var nameless = 0
}

/// How the comparison is made; part of the settings.
struct DetectionRules: Equatable, Sendable {
  /// At which complete read without a product it counts as removed.
  var readsUntilRemoved = 2
  /// In a shop that converts its prices, a move up to this that all prices share is the exchange rate.
  var convertedPercent: UInt64 = 3
}
