import Foundation

/// One page of a feed.
struct FeedPage: Hashable, Sendable {
  /// Products in the page's order.
  var products: [ShopifyProduct] = []
  /// How many entries the page had: an empty page ends a listing, a page of broken entries does not.
  var entries = 0
  /// Products that were left out because their id, title, handle or variants cannot be read.
  var brokenProducts = 0
  /// Variants that were left out because their id, price or stock cannot be read.
  var brokenVariants = 0
  /// About how many bytes of memory its products take, measured so that a sync needs some four times as many.
  var weight = 0
  /// Which they were, as far as their ids can be read.
  var unreadable: Set<UnreadableEntry> = []
  /// Broken products without a readable id.
  var nameless = 0
}

/// Decodes the body of `/products.json`.
///
/// It passes over everything that is not kept, such as descriptions, without building it. What is broken is left out
/// and counted; a price that cannot be read is never zero.
enum FeedDecoder {
  /// Variants of a product at most: Shopify has 2,048. A product with more is broken.
  private static let mostVariants = 4_096
  /// Pictures of a product that are kept: Shopify has no more.
  private static let mostImages = 250

  /// The page that `data` is.
  /// - Parameter room: bytes of memory that its products may take.
  static func decode(_ data: Data, room: Int = .max) throws(FeedFault) -> FeedPage {
    let result = data.withUnsafeBytes { bytes in
      Result { () throws(FeedFault) in try decode(bytes, room: room) }
    }
    return try result.get()
  }

  /// The page that `bytes` are.
  static func decode(_ bytes: UnsafeRawBufferPointer, room: Int = .max) throws(FeedFault) -> FeedPage {
    var scanner = JSONScanner(bytes, room: room)
    do throws(FeedFault) {
      guard try scanner.peek() == UInt8(ascii: "{") else { throw .notJSON }
    } catch {
      throw .notJSON
    }
    var page: FeedPage?
    var errors: String?
    try scanner.object { (scanner, name) throws(FeedFault) in
      if scanner.matches(name, "products"), try scanner.peek() == UInt8(ascii: "[") {
        page = try products(&scanner)
      } else if scanner.matches(name, "errors") || scanner.matches(name, "error") {
        errors = try words(&scanner)
      } else {
        try scanner.skip()
      }
    }
    try scanner.expectEnd()
    if let errors { throw .errors(errors) }
    guard var page else { throw .noProducts }
    page.weight = scanner.built
    return page
  }

  /// The first text of whatever `errors` is; `nil` for null.
  private static func words(_ scanner: inout JSONScanner) throws(FeedFault) -> String? {
    let start = scanner.offset
    if let text = try scanner.textIfAny() { return scanner.words(text) }
    let raw = UnsafeRawBufferPointer(rebasing: scanner.bytes[start..<scanner.offset].prefix(200))
    let words = String(decoding: raw, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    return words == "null" ? nil : ShopText.visible(words)
  }

  private static func products(_ scanner: inout JSONScanner) throws(FeedFault) -> FeedPage {
    var page = FeedPage()
    try scanner.list { (scanner) throws(FeedFault) in
      page.entries += 1
      if let product = try product(&scanner, of: &page) {
        page.products.append(product)
      } else {
        page.brokenProducts += 1
      }
    }
    return page
  }

  private static func product(
    _ scanner: inout JSONScanner, of page: inout FeedPage
  ) throws(FeedFault) -> ShopifyProduct? {
    guard try scanner.peek() == UInt8(ascii: "{") else {
      try scanner.skip()
      page.nameless += 1
      return nil
    }
    var id: Int64?
    var title: String?
    var handle: String?
    var variants: [ShopifyVariant]?
    // With the heads of its two lists.
    try scanner.build(MemoryLayout<ShopifyProduct>.stride + 64)
    var broken: [Int64] = []
    var product = ShopifyProduct(id: 0, title: "", handle: "", variants: [])
    try scanner.object { (scanner, name) throws(FeedFault) in
      if scanner.matches(name, "id") {
        id = try identifier(&scanner)
      } else if scanner.matches(name, "title") {
        title = try scanner.stringIfAny()
      } else if scanner.matches(name, "handle") {
        handle = try scanner.stringIfAny()
      } else if scanner.matches(name, "vendor") {
        product.vendor = try scanner.stringIfAny()
      } else if scanner.matches(name, "product_type") {
        product.productType = try scanner.stringIfAny()
      } else if scanner.matches(name, "created_at") {
        product.createdAt = try date(&scanner)
      } else if scanner.matches(name, "published_at") {
        product.publishedAt = try date(&scanner)
      } else if scanner.matches(name, "images") {
        product.images = try images(&scanner)
      } else if scanner.matches(name, "variants") {
        variants = try self.variants(&scanner, broken: &broken)
      } else {
        try scanner.skip()
      }
    }
    page.brokenVariants += broken.count
    guard let id else {
      page.nameless += 1
      return nil
    }
    guard let title, let handle, let variants else {
      page.unreadable.insert(UnreadableEntry(product: id))
      return nil
    }
    for variant in broken { page.unreadable.insert(UnreadableEntry(product: id, variant: variant)) }
    (product.id, product.title, product.handle, product.variants) = (id, title, handle, variants)
    return product
  }

  /// `nil` when there is no list, when all of its entries are broken, and when there are too many.
  private static func variants(
    _ scanner: inout JSONScanner, broken: inout [Int64]
  ) throws(FeedFault) -> [ShopifyVariant]? {
    guard try scanner.peek() == UInt8(ascii: "[") else {
      try scanner.skip()
      return nil
    }
    var variants: [ShopifyVariant] = []
    var seen: Set<Int64> = []
    var entries = 0
    try scanner.list { (scanner) throws(FeedFault) in
      entries += 1
      guard entries <= mostVariants else { return try scanner.skip() }
      guard let variant = try variant(&scanner, position: entries, broken: &broken) else { return }
      let isNew = isFirst(variant.id, of: variants, seen: &seen)
      if isNew { variants.append(variant) }
    }
    return entries > mostVariants || variants.isEmpty && entries > 0 ? nil : variants
  }

  /// A set is built for many variants only: it costs more than a look at the few ids of most products.
  private static func isFirst(_ id: Int64, of variants: [ShopifyVariant], seen: inout Set<Int64>) -> Bool {
    guard variants.count >= 16 else { return !variants.contains { $0.id == id } }
    if seen.isEmpty { seen.formUnion(variants.lazy.map(\.id)) }
    return seen.insert(id).inserted
  }

  private static func variant(
    _ scanner: inout JSONScanner, position: Int, broken: inout [Int64]
  ) throws(FeedFault) -> ShopifyVariant? {
    guard try scanner.peek() == UInt8(ascii: "{") else {
      try scanner.skip()
      broken.append(UnreadableEntry.namelessVariant)
      return nil
    }
    var id: Int64?
    var price: Price?
    var available: Bool?
    var isCompareAtPriceBroken = false
    // A comparison has it twice more, with its market.
    try scanner.build(MemoryLayout<ShopifyVariant>.stride + 36)
    var variant = ShopifyVariant(id: 0, title: "Default Title", price: .zero, available: false, position: position)
    try scanner.object { (scanner, name) throws(FeedFault) in
      if scanner.matches(name, "id") {
        id = try identifier(&scanner)
      } else if scanner.matches(name, "title") {
        variant.title = try scanner.stringIfAny() ?? variant.title
      } else if scanner.matches(name, "sku") {
        variant.sku = try scanner.stringIfAny()
      } else if scanner.matches(name, "price") {
        price = try amount(&scanner).price
      } else if scanner.matches(name, "compare_at_price") {
        let amount = try amount(&scanner)
        (variant.compareAtPrice, isCompareAtPriceBroken) = (amount.price, amount.isBroken)
      } else if scanner.matches(name, "available") {
        available = try scanner.boolIfAny()
      } else if scanner.matches(name, "position") {
        variant.position = try scanner.integerIfAny().flatMap { Int(exactly: $0) } ?? position
      } else {
        try scanner.skip()
      }
    }
    guard let id, let price, let available, !isCompareAtPriceBroken else {
      broken.append(id ?? UnreadableEntry.namelessVariant)
      return nil
    }
    (variant.id, variant.price, variant.available) = (id, price, available)
    return variant
  }

  /// Pictures without an address are left out.
  private static func images(_ scanner: inout JSONScanner) throws(FeedFault) -> [ShopifyImage] {
    var images: [ShopifyImage] = []
    guard try scanner.peek() == UInt8(ascii: "[") else {
      try scanner.skip()
      return images
    }
    try scanner.list { (scanner) throws(FeedFault) in
      guard images.count < mostImages, try scanner.peek() == UInt8(ascii: "{") else { return try scanner.skip() }
      var src: String?
      try scanner.object { (scanner, name) throws(FeedFault) in
        if scanner.matches(name, "src") { src = try scanner.stringIfAny() } else { try scanner.skip() }
      }
      guard let src else { return }
      try scanner.build(MemoryLayout<ShopifyImage>.stride + 4)
      images.append(ShopifyImage(src: src))
    }
    return images
  }

  // MARK: - Values

  /// Shopify's ids are positive.
  private static func identifier(_ scanner: inout JSONScanner) throws(FeedFault) -> Int64? {
    guard let id = try scanner.integerIfAny(), id > 0 else { return nil }
    return id
  }

  /// Decimal text or a plain number. No amount is null or empty text; a negative one is broken.
  private static func amount(_ scanner: inout JSONScanner) throws(FeedFault) -> (price: Price?, isBroken: Bool) {
    let range: Range<Int>
    switch try scanner.peek() {
    case UInt8(ascii: "\""):
      let text = try scanner.text()
      if text.range.isEmpty { return (nil, false) }
      range = text.range
    case UInt8(ascii: "n"):
      try scanner.skip()
      return (nil, false)
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): range = try scanner.number()
    default:
      try scanner.skip()
      return (nil, true)
    }
    guard let price = Price(utf8: UnsafeRawBufferPointer(rebasing: scanner.bytes[range])), price >= .zero else {
      return (nil, true)
    }
    return (price, false)
  }

  private static func date(_ scanner: inout JSONScanner) throws(FeedFault) -> Date? {
    guard let text = try scanner.textIfAny() else { return nil }
    return FeedDate.iso8601(UnsafeRawBufferPointer(rebasing: scanner.bytes[text.range]))
  }
}

/// Values that are `nil` when something else stands in their place; that is passed over.
extension JSONScanner {
  fileprivate mutating func textIfAny() throws(FeedFault) -> Text? {
    if try peek() == UInt8(ascii: "\"") { return try text() }
    try skip()
    return nil
  }

  mutating func stringIfAny() throws(FeedFault) -> String? {
    guard let text = try textIfAny() else { return nil }
    // Short ones are kept in place.
    if text.range.count > 15 { try build(32 + min(text.range.count, Self.longestText)) }
    return words(text)
  }

  fileprivate mutating func boolIfAny() throws(FeedFault) -> Bool? {
    let first = try peek()
    try skip()
    return first == UInt8(ascii: "t") ? true : first == UInt8(ascii: "f") ? false : nil
  }

  /// A number without point or exponent that fits.
  mutating func integerIfAny() throws(FeedFault) -> Int64? {
    let first = try peek()
    guard first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10 else {
      try skip()
      return nil
    }
    let range = try number()
    let isNegative = first == UInt8(ascii: "-")
    var value: Int64 = 0
    for index in range.lowerBound + (isNegative ? 1 : 0)..<range.upperBound {
      let digit = bytes[index] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      let (product, isTooLarge) = value.multipliedReportingOverflow(by: 10)
      let (sum, isBeyond) = product.addingReportingOverflow(Int64(digit))
      guard !isTooLarge, !isBeyond else { return nil }
      value = sum
    }
    return isNegative ? -value : value
  }
}
