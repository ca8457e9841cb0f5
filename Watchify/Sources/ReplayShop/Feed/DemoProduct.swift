/// A product that can be changed: what a timeline works on.
public struct DemoProduct: Sendable, Hashable {
  /// The number that stays the same whatever else changes.
  public var id: Int
  /// What people read.
  public var title: String
  /// The last part of the product's address.
  public var handle: String
  /// The description, as HTML.
  public var bodyHTML: String
  /// The brand.
  public var vendor: String
  /// The shop's word for this kind of product, often empty.
  public var productType: String
  /// The shop's tags, in its order.
  public var tags: [String]
  /// The names of the one to three options: `Size`, `Color`; `Title` for a product that comes in one form.
  public var optionNames: [String]
  /// When it went on sale, in the text form of the feed.
  public var publishedAt: String
  /// When it was made, in the text form of the feed.
  public var createdAt: String
  /// When anything about it changed last, in the text form of the feed.
  public var updatedAt: String
  /// What can be bought.
  public var variants: [DemoVariant]
  /// The pictures, the main one first.
  public var images: [DemoImage]

  /// A product with every field given.
  public init(
    id: Int, title: String, handle: String, bodyHTML: String = "", vendor: String = "", productType: String = "",
    tags: [String] = [], optionNames: [String] = ["Title"], publishedAt: String = DemoProduct.someday,
    createdAt: String = DemoProduct.someday, updatedAt: String = DemoProduct.someday, variants: [DemoVariant],
    images: [DemoImage] = []
  ) {
    self.id = id
    self.title = title
    self.handle = handle
    self.bodyHTML = bodyHTML
    self.vendor = vendor
    self.productType = productType
    self.tags = tags
    self.optionNames = optionNames
    self.publishedAt = publishedAt
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.variants = variants
    self.images = images
  }

  /// A moment for products whose moments do not matter.
  public static let someday = "2026-01-05T10:00:00-05:00"

  /// The values of an option, in the order in which the variants have them.
  func values(ofOption index: Int) -> [String] {
    variants.reduce(into: []) { values, variant in
      guard index < variant.options.count, !values.contains(variant.options[index]) else { return }
      values.append(variant.options[index])
    }
  }
}

/// One form of a product: a size in a colour.
public struct DemoVariant: Sendable, Hashable {
  /// The number that stays the same whatever else changes.
  public var id: Int
  /// The values of the product's options; `["Default Title"]` for a product that comes in one form.
  public var options: [String]
  /// The shop's own number; empty and absent both occur.
  public var sku: String?
  /// The price in hundredths of the shop's base currency.
  public var price: Int
  /// The price before a sale, in hundredths: absent, zero, equal to the price and below it all occur.
  public var compareAt: Int?
  /// Whether it can be bought now.
  public var isAvailable: Bool
  /// The weight.
  public var grams: Int
  /// When it was made, in the text form of the feed.
  public var createdAt: String
  /// When anything about it changed last, in the text form of the feed.
  public var updatedAt: String

  /// A variant with every field given.
  public init(
    id: Int, options: [String] = ["Default Title"], sku: String? = nil, price: Int, compareAt: Int? = nil,
    isAvailable: Bool = true, grams: Int = 0, createdAt: String = DemoProduct.someday,
    updatedAt: String = DemoProduct.someday
  ) {
    self.id = id
    self.options = options
    self.sku = sku
    self.price = price
    self.compareAt = compareAt
    self.isAvailable = isAvailable
    self.grams = grams
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }

  /// What the feed calls it: its options in one line.
  public var title: String { options.joined(separator: " / ") }
}

/// A picture of a product.
public struct DemoImage: Sendable, Hashable {
  /// The number of this picture.
  public var id: Int
  /// Its whole address without the query, or only a file's name, which the server that serves it completes.
  public var source: String
  /// What stands behind `?v=`: it changes with the file, and sometimes without.
  public var version: Int
  /// The width in pixels.
  public var width: Int
  /// The height in pixels.
  public var height: Int
  /// The variants that it shows, when it shows some in particular.
  public var variantIDs: [Int]
  /// When it was put up, in the text form of the feed.
  public var createdAt: String

  /// A picture with every field given.
  public init(
    id: Int, source: String, version: Int, width: Int = 1_200, height: Int = 1_200, variantIDs: [Int] = [],
    createdAt: String = DemoProduct.someday
  ) {
    self.id = id
    self.source = source
    self.version = version
    self.width = width
    self.height = height
    self.variantIDs = variantIDs
    self.createdAt = createdAt
  }
}
