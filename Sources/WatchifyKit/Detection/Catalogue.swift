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
  /// Whether the last read of its product was without it.
  var isMissing = false
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

  var news: [DetectedChange] = []
  var products: [ProductChange] = []
  /// Whether everything was taken as it is without news, because market or currency changed.
  var isBaseline = false
}

/// How the comparison is made; part of the settings.
struct DetectionRules: Equatable, Sendable {
  /// At which complete read without a product it counts as removed.
  var readsUntilRemoved = 2
  /// In a shop that converts its prices, moves up to this are the exchange rate.
  var convertedPercent: UInt64 = 3
}
