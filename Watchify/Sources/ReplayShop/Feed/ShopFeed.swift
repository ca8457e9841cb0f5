public import Foundation

/// The products of a shop, in the order in which it lists them.
///
/// A product is kept as it was given: as bytes of a recording, as a model, or as a number that a generator makes a
/// product of when somebody asks. Changing a product makes a model of it.
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

  /// The currency that a visitor is served who asks for none; `nil` is the shop's own.
  public var servedCurrency: String?

  /// A feed of models.
  public init(products: [DemoProduct]) {
    items = products.map { Item(id: $0.id, content: .model($0)) }
  }

  /// A feed of a captured `products.json`: an object with `products`.
  ///
  /// - Parameters:
  ///   - recorded: the capture.
  ///   - asRecorded: keep the text of each product as it is; otherwise it gets the wire form, without blanks and with
  ///     the storefront's escapes, whatever tool indented the capture.
  public init(recorded: Data, asRecorded: Bool = false) throws(ReplayError) {
    items = try Recording.items(in: recorded, asRecorded: asRecorded)
  }

  init(generator: ShopGenerator) {
    items = (0..<generator.products).map { Item(id: generator.id(of: $0), content: .generated(generator, $0)) }
  }

  /// How many products there are.
  public var count: Int { items.count }

  /// The products' numbers, in the feed's order.
  public var ids: [Int] { items.map(\.id) }

  /// The product with this number, when there is one.
  public func product(_ id: Int) throws(ReplayError) -> DemoProduct {
    guard let item = items.first(where: { $0.id == id }) else { throw .noProduct(id) }
    return try item.product()
  }

  /// The bytes of a `products.json` with the products at these places, in the shop's base currency.
  ///
  /// - Parameters:
  ///   - range: the places.
  ///   - imageBase: stands before pictures that have only a file's name.
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
  /// Changes a product as you say, and its `updated_at` with it.
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

  /// Changes one variant, or all of a product's, and what says when.
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

  /// Sets the price of one variant, or of all of a product's, in hundredths.
  public mutating func setPrice(of id: Int, variant: Int? = nil, to price: Int) throws(ReplayError) {
    try update(id, variant: variant) { $0.price = price }
  }

  /// Changes the price of one variant, or of all of a product's, by so many per cent: -30 makes it cheaper.
  public mutating func changePrice(of id: Int, variant: Int? = nil, byPercent percent: Int) throws(ReplayError) {
    try update(id, variant: variant) { $0.price = $0.price * (100 + percent) / 100 }
  }

  /// Sets the price before a sale, in hundredths; `nil` takes it away.
  public mutating func setCompareAt(of id: Int, variant: Int? = nil, to price: Int?) throws(ReplayError) {
    try update(id, variant: variant) { $0.compareAt = price }
  }

  /// Makes one variant, or all of a product's, available again.
  public mutating func restock(_ id: Int, variant: Int? = nil) throws(ReplayError) {
    try update(id, variant: variant) { $0.isAvailable = true }
  }

  /// Sells one variant, or all of a product's, out.
  public mutating func sellOut(_ id: Int, variant: Int? = nil) throws(ReplayError) {
    try update(id, variant: variant) { $0.isAvailable = false }
  }

  /// Puts a product into the list, at the front as new ones are.
  public mutating func insert(_ product: DemoProduct, at index: Int = 0) {
    items.insert(Item(id: product.id, content: .model(product)), at: min(max(0, index), items.count))
  }

  /// Takes a product out of the list, and gives it to you.
  @discardableResult
  public mutating func remove(_ id: Int) throws(ReplayError) -> DemoProduct {
    let product = try product(id)
    items.removeAll { $0.id == id }
    return product
  }

  /// Puts another picture in the place of the first one.
  public mutating func swapImage(of id: Int) throws(ReplayError) {
    try update(id) { product in
      let old = product.images.first
      let image = DemoImage(
        id: (old?.id ?? id) + 1_000_000_000, source: "\(product.handle)-new.svg", version: (old?.version ?? 0) + 1)
      if product.images.isEmpty { product.images = [image] } else { product.images[0] = image }
    }
  }

  /// Changes only what stands behind `?v=` of every picture: the pictures are the same.
  public mutating func touchImages(of id: Int) throws(ReplayError) {
    try update(id) { product in
      for index in product.images.indices { product.images[index].version += 1 }
    }
  }

  /// Adds a variant at the end.
  public mutating func addVariant(_ variant: DemoVariant, to id: Int) throws(ReplayError) {
    try update(id) { product in product.variants.append(variant) }
  }

  /// Takes a variant away.
  public mutating func removeVariant(_ variant: Int, of id: Int) throws(ReplayError) {
    try edit(id) { (product) throws(ReplayError) in
      guard product.variants.contains(where: { $0.id == variant }) else {
        throw .noVariant(product: id, variant: variant)
      }
      product.variants.removeAll { $0.id == variant }
    }
  }

  /// Gives a product another title.
  public mutating func retitle(_ id: Int, to title: String) throws(ReplayError) {
    try update(id) { product in product.title = title }
  }

  /// Serves visitors who ask for no currency this one from now on; `nil` is the shop's own.
  public mutating func switchCurrency(to currency: String?) { servedCurrency = currency }

  /// Changes nothing but every product's `updated_at` in a range, as real shops do all day.
  public mutating func touch(_ range: Range<Int>) throws(ReplayError) {
    for id in items[range.clamped(to: items.indices)].map(\.id) { try update(id) { _ in } }
  }

  /// Each edit is a minute after the one before, so a feed depends on nothing but its edits.
  private mutating func nextMoment() -> String {
    edits += 1
    func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
    let (day, hour, minute) = (edits / 1_440 % 28 + 1, edits / 60 % 24, edits % 60)
    return "2026-06-\(two(day))T\(two(hour)):\(two(minute)):00-05:00"
  }
}
