import Foundation

/// Compares the stored catalogue of a store with a new read. A pure function: it uses neither a clock nor the database.
///
/// The rules, with their reasons, are in Watchify/ARCHITECTURE.md ("What counts as news").
struct ChangeDetection {
  let rules: DetectionRules
  /// The estimated exchange rate; `nil` for a shop that does not convert its prices.
  let rate: ExchangeRate?
  /// The market of this read.
  let market: Market
  let memory: DetectionMemory
  /// The entries that were listed but could not be decoded: they count as neither changed nor missing.
  let unreadable: Set<UnreadableEntry>
  /// The number of these entries by product.
  private let unreadableVariants: [Int64: Int]
  private var result = ChangeSet()

  /// Returns the changes between the stored catalogue and a read.
  /// - Parameters:
  ///   - stored: the stored products by id; empty at the first read, which reports no changes.
  ///   - reading: the new read.
  ///   - before: the market of the stored values; `nil` before the first read.
  ///   - now: the market of the new read.
  ///   - baseCurrency: the currency in which the shop keeps its prices; `nil` while unknown.
  ///   - memory: the state kept from earlier reads.
  static func changes(
    from stored: [Int64: StoredProduct], to reading: ShopReading, before: Market?, now: Market, baseCurrency: String?,
    rules: DetectionRules = DetectionRules(), memory: DetectionMemory = DetectionMemory()
  ) -> ChangeSet {
    // A missing currency is taken to be unchanged.
    let market = Market(country: now.country, currency: now.currency ?? before?.currency)
    // Prices are assumed to be converted until the base currency is known to be the served one.
    let isConverted = baseCurrency == nil || (market.currency != nil && market.currency != baseCurrency)
    let rate =
      isConverted
      ? ExchangeRate(
        percent: rules.convertedPercent, isBaseKnown: baseCurrency != nil, memory: memory, from: stored, to: reading,
        market: market)
      : nil
    var detection = ChangeDetection(rules: rules, rate: rate, market: market, memory: memory, reading.unreadable)
    let isSwitch = before.map { !$0.isComparable(to: now) } ?? false
    detection.compare(stored, reading, isFirst: before == nil, isReturn: isSwitch && memory.isKnownMarket)
    if let before, isSwitch { detection.tellSwitch(from: before, to: now) }
    detection.result.rate = detection.rateNow
    return detection.result
  }

  private init(
    rules: DetectionRules, rate: ExchangeRate?, market: Market, memory: DetectionMemory,
    _ unreadable: Set<UnreadableEntry>
  ) {
    self.rules = rules
    self.rate = rate
    self.market = market
    self.memory = memory
    self.unreadable = unreadable
    unreadableVariants = unreadable.reduce(into: [:]) { $0[$1.product, default: 0] += 1 }
  }

  private var rateNow: Double { rate?.now ?? memory.rate }

  private mutating func compare(
    _ stored: [Int64: StoredProduct], _ reading: ShopReading, isFirst: Bool, isReturn: Bool
  ) {
    var seen = Set<Int64>(minimumCapacity: reading.products.count)
    for product in reading.products where seen.insert(product.id).inserted {
      guard let old = stored[product.id] else {
        insert(product)
        continue
      }
      if isReturn, memory.arrivals.contains(product.id) { tell(.newProduct, product) }
      update(old, product)
    }
    if isFirst { result.news = [] }
    for entry in unreadable where entry.variant == 0 { seen.insert(entry.product) }
    // Only a complete, non-empty listing proves that a product is missing.
    guard reading.isComplete, !reading.products.isEmpty else { return keepNameless(seen) }
    let missing = stored.values.filter { !seen.contains($0.id) && !$0.isRemoved }.sorted { $0.id < $1.id }
    let isHidden = Dictionary(
      uniqueKeysWithValues: missing.map {
        ($0.id, isReturn && (!isOfThisMarket($0) || memory.told.covers(Self.removal(of: $0))))
      })
    let nameless = NamelessProducts(
      listed: reading.nameless, memory, missing: missing.filter { isHidden[$0.id] == false })
    (result.nameless, result.withoutID) = (nameless.foreign, nameless.products)
    for product in missing where !nameless.products.contains(product.id) {
      miss(product, isHidden: isHidden[product.id] ?? false)
    }
  }

  /// Carries over the entries without an id from the last complete listing.
  private mutating func keepNameless(_ seen: Set<Int64>) {
    result.nameless = memory.nameless
    for entry in memory.unreadable where entry.variant == UnreadableEntry.withoutID && !seen.contains(entry.product) {
      result.withoutID.insert(entry.product)
    }
  }

  /// Whether any stored values of a product belong to this market.
  private func isOfThisMarket(_ product: StoredProduct) -> Bool {
    product.variants.isEmpty || product.variants.contains { $0.market.isComparable(to: market) }
  }

  // MARK: Products

  private mutating func insert(_ product: ShopifyProduct) {
    let new = StoredProduct(product, market, rate: rateNow)
    result.products.append(.init(product: new, isNew: true, snapshots: new.variants.map(\.id)))
    // A product that was listed but undecodable before is not new.
    if !memory.unreadable.contains(UnreadableEntry(product: product.id)) { tell(.newProduct, product) }
  }

  private mutating func update(_ old: StoredProduct, _ product: ShopifyProduct) {
    var new = StoredProduct(product, market, rate: rateNow)
    new.row = old.row
    // Otherwise the stored state describes another market.
    if isOfThisMarket(old) {
      if old.isRemoved { tell(.productReturned, product) }
      compareImages(old.imagePaths, new.imagePaths, product)
    }
    let (variants, snapshots) = compareVariants(old, product)
    new.variants = variants
    var known = old
    known.variants = []
    var bare = new
    bare.variants = []
    // A product served without a publication date keeps its previous one.
    bare.publishedAt = new.publishedAt ?? old.publishedAt
    guard bare != known || !variants.isEmpty else { return }
    new.publishedAt = bare.publishedAt
    result.products.append(
      .init(product: new, isNew: false, isOwnChange: bare != known, snapshots: snapshots))
  }

  private mutating func miss(_ product: StoredProduct, isHidden: Bool) {
    var product = product
    product.missingReads += 1
    product.variants = []
    if isHidden {
      product.isRemoved = true
    } else if product.missingReads >= rules.readsUntilRemoved {
      product.isRemoved = true
      result.news.append(Self.removal(of: product))
    }
    result.products.append(.init(product: product, isNew: false, snapshots: []))
  }

  private static func removal(of product: StoredProduct) -> DetectedChange {
    DetectedChange(type: .productRemoved, productID: product.id, productTitle: product.title)
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

  /// Compares the variants of a product. Returns the variants to write and those that get a new snapshot.
  private mutating func compareVariants(
    _ old: StoredProduct, _ product: ShopifyProduct
  ) -> (changed: [StoredVariant], snapshots: [Int64]) {
    var (changed, snapshots): ([StoredVariant], [Int64]) = ([], [])
    var seen = Set<Int64>(minimumCapacity: product.variants.count)
    for (index, variant) in product.variants.enumerated() where seen.insert(variant.id).inserted {
      var new = StoredVariant(variant, market, rate: rateNow)
      guard let known = old.variant(variant.id, near: index) else {
        if isNews(variant, of: product, old) { tell(.newVariant, product, variant) }
        changed.append(new)
        snapshots.append(new.id)
        continue
      }
      let isComparable = known.market.isComparable(to: market)
      if isComparable { new.reference = compareValues(known, variant, product) }
      guard known != new else { continue }
      changed.append(new)
      if !isComparable || known.isMissing || known.market != market || known.hasOtherValues(than: new) {
        snapshots.append(new.id)
      }
    }
    // A variant without a readable id may be any of the missing ones.
    guard !unreadable.contains(UnreadableEntry(product: product.id, variant: UnreadableEntry.namelessVariant))
    else { return (changed, snapshots) }
    let end = lastKnownPosition(old, product, listed: seen)
    for var variant in old.variants
    where !seen.contains(variant.id) && variant.missingReads < rules.readsUntilRemoved && variant.position <= end {
      guard unreadable.isEmpty || !unreadable.contains(UnreadableEntry(product: product.id, variant: variant.id))
      else { continue }
      variant.missingReads += 1
      changed.append(variant)
    }
    return (changed, snapshots)
  }

  /// The position up to which the list of variants is known: a long one may have been cut, and what follows the last
  /// listed variant is then unknown.
  private func lastKnownPosition(_ old: StoredProduct, _ product: ShopifyProduct, listed: Set<Int64>) -> Int {
    guard product.variants.count + (unreadableVariants[product.id] ?? 0) == Self.cutVariants else { return .max }
    return old.variants.lazy.filter { listed.contains($0.id) }.map(\.position).max() ?? .max
  }

  /// The number of variants to which a list is cut.
  private static let cutVariants = 250

  /// Whether an unknown variant is new, rather than one that was undecodable before or belongs to another market.
  private func isNews(_ variant: ShopifyVariant, of product: ShopifyProduct, _ old: StoredProduct) -> Bool {
    old.variants.contains { $0.market.isComparable(to: market) }
      && [variant.id, UnreadableEntry.namelessVariant].allSatisfy {
        !memory.unreadable.contains(UnreadableEntry(product: product.id, variant: $0))
      }
  }

  /// Reports the changed values of a variant; returns the price that later prices are compared with.
  private mutating func compareValues(
    _ old: StoredVariant, _ new: ShopifyVariant, _ product: ShopifyProduct
  ) -> ReferencePrice {
    var reference = old.reference
    switch verdict(on: new.price, old) {
    case .rate: break
    case .news(let since, let isUnsure):
      reference = ReferencePrice(price: new.price, rate: rateNow)
      tell(
        new.price < since ? .priceDropped : .priceIncreased, product, new,
        magnitude: ChangeMagnitude(from: since, to: new.price), oldPrice: since, newPrice: new.price,
        isUnsure: isUnsure || new.price == .zero || since == .zero)
    }
    // Zero is no compare-at price.
    let (before, after) = (old.compareAtPrice?.unlessZero, new.compareAtPrice?.unlessZero)
    if before != after {
      let isRate = before.flatMap { old in after.map { rate?.explains(old, $0) ?? false } }
      if isRate != true { tell(.compareAtChanged, product, new, oldPrice: before, newPrice: after) }
    }
    // Some shops unlist a sold-out size. One missing read may be a mistake of the feed.
    let wasGone = old.missingReads >= rules.readsUntilRemoved
    if old.available != new.available || (new.available && wasGone) {
      tell(new.available ? .backInStock : .outOfStock, product, new)
    }
    return reference
  }

  private func verdict(on new: Price, _ old: StoredVariant) -> ExchangeRate.Verdict {
    if let rate { return rate.verdict(on: new, last: old.price, reference: old.reference) }
    return new == old.reference.price ? .rate : .news(since: old.reference.price, isUnsure: false)
  }

  // MARK: Another market

  /// Reports the change of market. The first read of a market is a baseline: missing products belong to the previous
  /// market, and no changes are reported. On a return to a known market, the changes since its last read are reported.
  private mutating func tellSwitch(from before: Market, to now: Market) {
    let isCurrency = now.currency != nil && now.currency != before.currency
    let notice = DetectedChange(
      type: .currencyChanged, oldText: isCurrency ? before.currency : before.country,
      newText: isCurrency ? now.currency : now.country)
    result.leftMarket = before
    guard !memory.isKnownMarket else {
      result.news.insert(notice, at: 0)
      return
    }
    for index in result.products.indices where result.products[index].product.missingReads > 0 {
      result.products[index].product.isRemoved = true
    }
    result.news = [notice]
    result.isBaseline = true
  }

  // MARK: Reporting

  private mutating func tell(
    _ type: ChangeType, _ product: ShopifyProduct, _ variant: ShopifyVariant? = nil,
    magnitude: ChangeMagnitude = .medium, oldPrice: Price? = nil, newPrice: Price? = nil,
    isUnsure: Bool = false, oldText: String? = nil, newText: String? = nil
  ) {
    guard result.news.count < ChangeSet.mostNews else { return }
    let change = DetectedChange(
      type: type, magnitude: magnitude, productID: product.id, productTitle: product.title, variantID: variant?.id,
      variantTitle: variant.flatMap { $0.title == ShopifyVariant.onlyTitle ? nil : $0.title }, oldPrice: oldPrice,
      newPrice: newPrice, isUnsure: isUnsure, oldText: oldText, newText: newText)
    if !memory.told.covers(change, within: rules.convertedPercent) { result.news.append(change) }
  }

  private static func count(_ number: Int, _ word: String) -> String { "\(number) \(word)\(number == 1 ? "" : "s")" }
}

extension ShopifyVariant {
  /// The title that Shopify gives to the only variant of a product. Shops do not display it.
  static let onlyTitle = "Default Title"
}

extension StoredProduct {
  init(_ product: ShopifyProduct, _ market: Market = Market(), rate: Double = 1) {
    var seen: Set<Int64> = []
    self.init(
      id: product.id, title: product.title, handle: product.handle, vendor: product.vendor,
      productType: product.productType, publishedAt: product.publishedAt.map { Int64($0.timeIntervalSince1970) },
      imagePaths: product.images.map(\.path),
      variants: product.variants.filter { seen.insert($0.id).inserted }.map { StoredVariant($0, market, rate: rate) })
  }
}

extension StoredVariant {
  init(_ variant: ShopifyVariant, _ market: Market = Market(), rate: Double = 1) {
    self.init(
      id: variant.id, title: variant.title, sku: variant.sku, price: variant.price,
      compareAtPrice: variant.compareAtPrice, available: variant.available, position: variant.position,
      market: market, reference: ReferencePrice(price: variant.price, rate: rate))
  }

  /// Whether a value that the history records differs.
  func hasOtherValues(than other: Self) -> Bool {
    price != other.price || compareAtPrice != other.compareAtPrice || available != other.available
  }
}
