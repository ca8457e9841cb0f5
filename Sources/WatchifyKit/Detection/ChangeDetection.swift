import Foundation

/// Compares what is stored of a store with what a read brought. A pure function: no clock, no database.
///
/// The rules, with their reasons, are in ARCHITECTURE.md ("What counts as news").
struct ChangeDetection {
  let rules: DetectionRules
  /// What tells moves of the rate apart, where prices are converted from another currency.
  let rate: ExchangeRate?
  /// Where this read was made.
  let market: Market
  private var result = ChangeSet()

  /// - Parameters:
  ///   - stored: what is known, by id; empty for a store that is read for the first time, which is no news.
  ///   - reading: what was read.
  ///   - before: the market of what is stored; `nil` before the first read.
  ///   - now: the market of the reading.
  ///   - baseCurrency: the currency that the shop keeps its prices in.
  static func changes(
    from stored: [Int64: StoredProduct], to reading: ShopReading, before: Market?, now: Market, baseCurrency: String?,
    rules: DetectionRules = DetectionRules()
  ) -> ChangeSet {
    // A shop that says nothing is taken to serve what it served.
    let market = Market(country: now.country, currency: now.currency ?? before?.currency)
    let currency = market.currency
    let isConverted = baseCurrency != nil && currency != nil && currency != baseCurrency
    let rate = isConverted ? ExchangeRate(percent: rules.convertedPercent, from: stored, to: reading) : nil
    var detection = ChangeDetection(rules: rules, rate: rate, market: market)
    detection.compare(stored, reading, isFirst: before == nil)
    if let before, !before.isComparable(to: now) { detection.silence(before, now) }
    return detection.result
  }

  private init(rules: DetectionRules, rate: ExchangeRate?, market: Market) {
    self.rules = rules
    self.rate = rate
    self.market = market
  }

  private mutating func compare(_ stored: [Int64: StoredProduct], _ reading: ShopReading, isFirst: Bool) {
    var seen = Set<Int64>(minimumCapacity: reading.products.count)
    for product in reading.products where seen.insert(product.id).inserted {
      if let old = stored[product.id] { update(old, product) } else { insert(product) }
    }
    if isFirst { result.news = [] }
    // Only a whole listing proves that something is not in it, and an empty one proves nothing.
    guard reading.isComplete, !seen.isEmpty else { return }
    for (id, product) in stored.sorted(by: { $0.key < $1.key }) where !seen.contains(id) { miss(product) }
  }

  // MARK: Products

  private mutating func insert(_ product: ShopifyProduct) {
    let new = StoredProduct(product, market)
    result.products.append(.init(product: new, isNew: true, snapshots: new.variants.map(\.id)))
    tell(.newProduct, product)
  }

  private mutating func update(_ old: StoredProduct, _ product: ShopifyProduct) {
    var new = StoredProduct(product, market)
    new.row = old.row
    // What is known of it may be from another market, which had it when this one did not.
    let isComparable = old.variants.isEmpty || old.variants.contains { $0.market.isComparable(to: market) }
    if isComparable {
      if old.isRemoved { tell(.productReturned, product) }
      compareImages(old.imagePaths, new.imagePaths, product)
    }
    let (variants, snapshots) = compareVariants(old, product)
    new.variants = variants
    var known = old
    known.variants = []
    var bare = new
    bare.variants = []
    // A product without a publication date keeps the one that it had.
    bare.publishedAt = new.publishedAt ?? old.publishedAt
    guard bare != known || !variants.isEmpty else { return }
    new.publishedAt = bare.publishedAt
    result.products.append(.init(product: new, isNew: false, snapshots: snapshots))
  }

  private mutating func miss(_ product: StoredProduct) {
    guard !product.isRemoved else { return }
    var product = product
    product.missingReads += 1
    product.variants = []
    if product.missingReads >= rules.readsUntilRemoved {
      product.isRemoved = true
      result.news.append(
        DetectedChange(type: .productRemoved, productID: product.id, productTitle: product.title))
    }
    result.products.append(.init(product: product, isNew: false, snapshots: []))
  }

  private mutating func compareImages(_ old: [String], _ new: [String], _ product: ShopifyProduct) {
    guard old != new else { return }
    var text = Self.count(new.count, "image")
    if new.count == old.count {
      let replaced = Set(new).subtracting(old).count
      text += replaced == 0 ? ", in another order" : ", \(replaced) replaced"
    }
    tell(.imagesChanged, product, oldText: Self.count(old.count, "image"), newText: text)
  }

  // MARK: Variants

  /// The variants to write, and which of them get a point in their history.
  private mutating func compareVariants(
    _ old: StoredProduct, _ product: ShopifyProduct
  ) -> (changed: [StoredVariant], snapshots: [Int64]) {
    var (changed, snapshots): ([StoredVariant], [Int64]) = ([], [])
    var seen = Set<Int64>(minimumCapacity: product.variants.count)
    for variant in product.variants where seen.insert(variant.id).inserted {
      let new = StoredVariant(variant, market)
      guard let known = old.variants.first(where: { $0.id == variant.id }) else {
        if old.variants.contains(where: { $0.market.isComparable(to: market) }) {
          tell(.newVariant, product, variant)
        }
        changed.append(new)
        snapshots.append(new.id)
        continue
      }
      guard known != new else { continue }
      changed.append(new)
      guard known.market.isComparable(to: market) else {
        snapshots.append(new.id)
        continue
      }
      let hasMoved = compareValues(known, variant, product)
      if hasMoved || known.isMissing || known.market != market { snapshots.append(new.id) }
    }
    for var variant in old.variants where !seen.contains(variant.id) && !variant.isMissing {
      variant.isMissing = true
      changed.append(variant)
    }
    return (changed, snapshots)
  }

  /// Whether a value changed that the history keeps.
  private mutating func compareValues(
    _ old: StoredVariant, _ new: ShopifyVariant, _ product: ShopifyProduct
  ) -> Bool {
    if old.price != new.price, isNews(old.price, new.price) {
      tell(
        new.price < old.price ? .priceDropped : .priceIncreased, product, new,
        magnitude: ChangeMagnitude(from: old.price, to: new.price), oldPrice: old.price, newPrice: new.price)
    }
    if old.compareAtPrice != new.compareAtPrice {
      let isRate = old.compareAtPrice.flatMap { old in new.compareAtPrice.map { !isNews(old, $0) } } ?? false
      if !isRate {
        tell(.compareAtChanged, product, new, oldPrice: old.compareAtPrice, newPrice: new.compareAtPrice)
      }
    }
    // Some shops take a size off the list when it is sold out.
    let wasAvailable = old.available && !old.isMissing
    if wasAvailable != new.available, new.available || old.available {
      tell(new.available ? .backInStock : .outOfStock, product, new)
    }
    return old.price != new.price || old.compareAtPrice != new.compareAtPrice || old.available != new.available
  }

  private func isNews(_ old: Price, _ new: Price) -> Bool { rate.map { !$0.explains(old, new) } ?? true }

  // MARK: Another market

  /// Takes everything as it is now: what is missing belongs to the other market, and none of it is news.
  private mutating func silence(_ before: Market, _ now: Market) {
    for index in result.products.indices where result.products[index].product.missingReads > 0 {
      result.products[index].product.isRemoved = true
    }
    let isCurrency = now.currency != nil && now.currency != before.currency
    result.news = [
      DetectedChange(
        type: .currencyChanged, oldText: isCurrency ? before.currency : before.country,
        newText: isCurrency ? now.currency : now.country)
    ]
    result.isBaseline = true
  }

  // MARK: Words

  private mutating func tell(
    _ type: ChangeType, _ product: ShopifyProduct, _ variant: ShopifyVariant? = nil,
    magnitude: ChangeMagnitude = .medium, oldPrice: Price? = nil, newPrice: Price? = nil, oldText: String? = nil,
    newText: String? = nil
  ) {
    result.news.append(
      DetectedChange(
        type: type, magnitude: magnitude, productID: product.id, productTitle: product.title, variantID: variant?.id,
        variantTitle: variant.flatMap { $0.title == ShopifyVariant.onlyTitle ? nil : $0.title }, oldPrice: oldPrice,
        newPrice: newPrice, oldText: oldText, newText: newText))
  }

  private static func count(_ number: Int, _ word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }
}

extension ShopifyVariant {
  /// What Shopify calls the only variant of a product; no shopper ever sees it.
  static let onlyTitle = "Default Title"
}

extension StoredProduct {
  init(_ product: ShopifyProduct, _ market: Market = Market()) {
    var seen: Set<Int64> = []
    self.init(
      id: product.id, title: product.title, handle: product.handle, vendor: product.vendor,
      productType: product.productType, publishedAt: product.publishedAt.map { Int64($0.timeIntervalSince1970) },
      imagePaths: product.images.map(\.path),
      variants: product.variants.filter { seen.insert($0.id).inserted }.map { StoredVariant($0, market) })
  }
}

extension StoredVariant {
  init(_ variant: ShopifyVariant, _ market: Market = Market()) {
    self.init(
      id: variant.id, title: variant.title, sku: variant.sku, price: variant.price,
      compareAtPrice: variant.compareAtPrice, available: variant.available, position: variant.position,
      market: market)
  }
}
