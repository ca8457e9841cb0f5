import Foundation

/// A decoded page of a feed.
struct FeedPage: Hashable, Sendable {
  /// The products, in the page's order.
  var products: [ShopifyProduct] = []
  /// The number of entries, including undecodable ones: only a page without entries can end a listing.
  var entries = 0
  /// The number of products skipped because their id, title, handle or variants could not be decoded.
  var brokenProducts = 0
  /// The number of variants skipped because their id, price or availability could not be decoded.
  var brokenVariants = 0
  /// The approximate memory of the products, in bytes. A sync needs about four times as much.
  var weight = 0
  /// The skipped products and variants, as far as their ids are readable.
  var unreadable: Set<UnreadableEntry> = []
  /// The number of skipped products without a readable id.
  var nameless = 0
}

/// A decoder for the body of `/products.json`.
///
/// Values that are not kept, such as descriptions, are skipped without being built. Undecodable products and variants
/// are omitted and counted; an undecodable price never becomes zero.
enum FeedDecoder {
  /// The maximum number of variants of a product; Shopify allows 2,048. A product with more counts as undecodable.
  private static let mostVariants = 4_096
  /// The maximum number of images kept of a product, which is also Shopify's limit.
  private static let mostImages = 250

  /// Decodes a page.
  /// - Parameter room: the maximum memory for the products, in bytes.
  static func decode(_ data: Data, room: Int = .max) throws(FeedFault) -> FeedPage {
    let result = data.withUnsafeBytes { bytes in
      Result { () throws(FeedFault) in try decode(bytes, room: room) }
    }
    return try result.get()
  }

  /// Decodes a page; `room` is the maximum memory for the products, in bytes.
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

  /// Returns the first text within the value of `errors`; `nil` for null.
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
    // 64 bytes are for the headers of the two arrays.
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

  /// Decodes the variants of a product; `nil` if there is no list, no decodable variant, or more than `mostVariants`.
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

  /// Whether no earlier variant has the id. The set is only built from 16 variants on: for fewer, a linear search is
  /// faster.
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
    // 36 bytes are for the copies in a comparison, with their market.
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
        // Shops also write no price as 0.00.
        variant.compareAtPrice = amount.price?.unlessZero
        isCompareAtPriceBroken = amount.isBroken
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

  /// Decodes the images of a product; images without an address are omitted.
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

  /// Decodes an id; `nil` unless it is positive, as all of Shopify's are.
  private static func identifier(_ scanner: inout JSONScanner) throws(FeedFault) -> Int64? {
    guard let id = try scanner.integerIfAny(), id > 0 else { return nil }
    return id
  }

  /// Decodes an amount from decimal text or a number. Null and empty text are no amount; a negative amount is broken.
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

/// Methods that return `nil` for a value of another type, and skip it.
extension JSONScanner {
  fileprivate mutating func textIfAny() throws(FeedFault) -> Text? {
    if try peek() == UInt8(ascii: "\"") { return try text() }
    try skip()
    return nil
  }

  mutating func stringIfAny() throws(FeedFault) -> String? {
    guard let text = try textIfAny() else { return nil }
    // Strings of up to 15 bytes are stored inline.
    if text.range.count > 15 { try build(32 + min(text.range.count, Self.longestText)) }
    return words(text)
  }

  fileprivate mutating func boolIfAny() throws(FeedFault) -> Bool? {
    let first = try peek()
    try skip()
    return first == UInt8(ascii: "t") ? true : first == UInt8(ascii: "f") ? false : nil
  }

  /// Decodes an integer; `nil` for a number with a point or exponent, or beyond `Int64`.
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
