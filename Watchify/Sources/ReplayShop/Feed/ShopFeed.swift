public import Foundation

/// The products of a shop, in the order in which it lists them.
///
/// A product is kept in the form in which it was given: as bytes of a recording, as a model, or as an index from which
/// a generator creates it on demand. Changing a product converts it to a model.
public struct ShopFeed: Sendable {
  enum Content: Sendable {
    case wire([UInt8])
    case model(DemoProduct)
    case generated(ShopGenerator, Int)
  }

  struct Item: Sendable {
    let id: Int
    var content: Content
  }

  var items: [Item]
  private var edits = 0

  /// The currency for requests that specify none; `nil` for the shop's own.
  public var servedCurrency: String?

  /// Creates a feed of models.
  public init(products: [DemoProduct]) {
    items = products.map { Item(id: $0.id, content: .model($0)) }
  }

  /// Creates a feed from a captured `products.json`, an object with a list `products`.
  ///
  /// - Parameters:
  ///   - recorded: the capture.
  ///   - asRecorded: whether the text of each product is kept unchanged; otherwise it is converted to the wire form,
  ///     without whitespace and with the storefront's escapes, whatever tool indented the capture.
  public init(recorded: Data, asRecorded: Bool = false) throws(ReplayError) {
    items = try Recording.items(in: recorded, asRecorded: asRecorded)
  }

  init(generator: ShopGenerator) {
    items = (0..<generator.products).map { Item(id: generator.id(of: $0), content: .generated(generator, $0)) }
  }

  /// The number of products.
  public var count: Int { items.count }

  /// The ids of the products, in the feed's order.
  public var ids: [Int] { items.map(\.id) }

  /// Returns the product with an id.
  public func product(_ id: Int) throws(ReplayError) -> DemoProduct {
    guard let item = items.first(where: { $0.id == id }) else { throw .noProduct(id) }
    return try item.product()
  }

  /// Returns a `products.json` with the products in a range, in the shop's base currency.
  ///
  /// - Parameters:
  ///   - range: the positions in the feed, clamped to the existing ones.
  ///   - imageBase: the prefix of images that are given as a file name.
  public func json(of range: Range<Int>, imageBase: String = "https://cdn.example/") -> Data {
    Data(bytes(of: items[range.clamped(to: items.indices)], imageBase: imageBase))
  }

  func bytes(of items: ArraySlice<Item>, imageBase: String) -> [UInt8] {
    var writer = WireWriter()
    writer.bytes.reserveCapacity(items.count * 3_000 + 16)
    writer.raw("{\"products\":")
    writer.list(items) { writer, item, _ in
      switch item.content {
      case .wire(let bytes): writer.bytes.append(contentsOf: bytes)
      case .model(let product): writer.product(product, imageBase: imageBase)
      case .generated(let generator, let index): writer.product(generator.product(index), imageBase: imageBase)
      }
    }
    writer.raw("}")
    return writer.bytes
  }
}

extension ShopFeed.Item {
  func product() throws(ReplayError) -> DemoProduct {
    switch content {
    case .wire(let bytes): try Recording.product(of: bytes)
    case .model(let product): product
    case .generated(let generator, let index): generator.product(index)
    }
  }
}

// MARK: - Edits

extension ShopFeed {
  /// Changes a product with a closure, and its `updated_at`.
  public mutating func update(_ id: Int, _ change: (inout DemoProduct) -> Void) throws(ReplayError) {
    try edit(id) { (product) throws(ReplayError) in change(&product) }
  }

  private mutating func edit(
    _ id: Int, _ change: (inout DemoProduct) throws(ReplayError) -> Void
  ) throws(ReplayError) {
    guard let index = items.firstIndex(where: { $0.id == id }) else { throw .noProduct(id) }
    var product = try items[index].product()
    try change(&product)
    product.updatedAt = nextMoment()
    items[index] = Item(id: product.id, content: .model(product))
  }

  /// Changes one variant, or all variants of a product, and `updated_at`.
  public mutating func update(
    _ id: Int, variant: Int?, _ change: (inout DemoVariant) -> Void
  ) throws(ReplayError) {
    let moment = nextMoment()
    try edit(id) { (product) throws(ReplayError) in
      let chosen = product.variants.indices.filter { variant == nil || product.variants[$0].id == variant }
      if let variant, chosen.isEmpty { throw .noVariant(product: id, variant: variant) }
      for index in chosen {
        change(&product.variants[index])
        product.variants[index].updatedAt = moment
      }
    }
  }

  /// Sets the price of one variant, or of all variants of a product, in hundredths.
  public mutating func setPrice(of id: Int, variant: Int? = nil, to price: Int) throws(ReplayError) {
    try update(id, variant: variant) { $0.price = price }
  }

  /// Changes the price of one variant, or of all variants of a product, by a percentage; -30 is a reduction.
  public mutating func changePrice(of id: Int, variant: Int? = nil, byPercent percent: Int) throws(ReplayError) {
    try update(id, variant: variant) { $0.price = $0.price * (100 + percent) / 100 }
  }

  /// Sets the crossed-out price, in hundredths; `nil` removes it.
  public mutating func setCompareAt(of id: Int, variant: Int? = nil, to price: Int?) throws(ReplayError) {
    try update(id, variant: variant) { $0.compareAt = price }
  }

  /// Makes one variant, or all variants of a product, available.
  public mutating func restock(_ id: Int, variant: Int? = nil) throws(ReplayError) {
    try update(id, variant: variant) { $0.isAvailable = true }
  }

  /// Makes one variant, or all variants of a product, sold out.
  public mutating func sellOut(_ id: Int, variant: Int? = nil) throws(ReplayError) {
    try update(id, variant: variant) { $0.isAvailable = false }
  }

  /// Inserts a product at the front of the list, as shops do with new ones.
  public mutating func insert(_ product: DemoProduct, at index: Int = 0) {
    items.insert(Item(id: product.id, content: .model(product)), at: min(max(0, index), items.count))
  }

  /// Removes a product from the list and returns it.
  @discardableResult
  public mutating func remove(_ id: Int) throws(ReplayError) -> DemoProduct {
    let product = try product(id)
    items.removeAll { $0.id == id }
    return product
  }

  /// Replaces the first image.
  public mutating func swapImage(of id: Int) throws(ReplayError) {
    try update(id) { product in
      let old = product.images.first
      let image = DemoImage(
        id: (old?.id ?? id) + 1_000_000_000, source: "\(product.handle)-new.png", version: (old?.version ?? 0) + 1)
      if product.images.isEmpty { product.images = [image] } else { product.images[0] = image }
    }
  }

  /// Changes only the query `?v=` of every image.
  public mutating func touchImages(of id: Int) throws(ReplayError) {
    try update(id) { product in
      for index in product.images.indices { product.images[index].version += 1 }
    }
  }

  /// Appends a variant.
  public mutating func addVariant(_ variant: DemoVariant, to id: Int) throws(ReplayError) {
    try update(id) { product in product.variants.append(variant) }
  }

  /// Removes a variant.
  public mutating func removeVariant(_ variant: Int, of id: Int) throws(ReplayError) {
    try edit(id) { (product) throws(ReplayError) in
      guard product.variants.contains(where: { $0.id == variant }) else {
        throw .noVariant(product: id, variant: variant)
      }
      product.variants.removeAll { $0.id == variant }
    }
  }

  /// Sets the title of a product.
  public mutating func retitle(_ id: Int, to title: String) throws(ReplayError) {
    try update(id) { product in product.title = title }
  }

  /// Sets the currency for requests that specify none; `nil` for the shop's own.
  public mutating func switchCurrency(to currency: String?) { servedCurrency = currency }

  /// Changes only the `updated_at` of the products in a range, as real shops often do.
  public mutating func touch(_ range: Range<Int>) throws(ReplayError) {
    for id in items[range.clamped(to: items.indices)].map(\.id) { try update(id) { _ in } }
  }

  /// Returns the date of the next edit, a minute after the previous one, so that a feed depends only on its edits.
  private mutating func nextMoment() -> String {
    edits += 1
    func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
    let (day, hour, minute) = (edits / 1_440 % 28 + 1, edits / 60 % 24, edits % 60)
    return "2026-06-\(two(day))T\(two(hour)):\(two(minute)):00-05:00"
  }
}
