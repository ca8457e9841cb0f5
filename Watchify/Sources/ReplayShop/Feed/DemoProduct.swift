/// A product as a mutable model, on which the steps of a timeline operate.
public struct DemoProduct: Sendable, Hashable {
  /// The id, which never changes.
  public var id: Int
  /// The title.
  public var title: String
  /// The last part of the product's address.
  public var handle: String
  /// The description, as HTML.
  public var bodyHTML: String
  /// The brand.
  public var vendor: String
  /// The product category, often empty.
  public var productType: String
  /// The shop's tags, in its order.
  public var tags: [String]
  /// The names of the one to three options, such as `Size` and `Color`; `Title` for a product with a single variant.
  public var optionNames: [String]
  /// The date of publication, in the text form of the feed.
  public var publishedAt: String
  /// The date of creation, in the text form of the feed.
  public var createdAt: String
  /// The date of the last change, in the text form of the feed.
  public var updatedAt: String
  /// The variants.
  public var variants: [DemoVariant]
  /// The images, the main one first.
  public var images: [DemoImage]

  /// Creates a product from all of its fields.
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

  /// An arbitrary date for products whose dates do not matter.
  public static let someday = "2026-01-05T10:00:00-05:00"

  /// Returns the values of an option, in the order of the variants.
  func values(ofOption index: Int) -> [String] {
    variants.reduce(into: []) { values, variant in
      guard index < variant.options.count, !values.contains(variant.options[index]) else { return }
      values.append(variant.options[index])
    }
  }
}

/// A variant of a product, such as a size in a colour.
public struct DemoVariant: Sendable, Hashable {
  /// The id, which never changes.
  public var id: Int
  /// The values of the product's options; `["Default Title"]` for a product with a single variant.
  public var options: [String]
  /// The stock-keeping unit; may be empty or absent, as in real feeds.
  public var sku: String?
  /// The price in hundredths of the shop's base currency.
  public var price: Int
  /// The crossed-out price in hundredths; may be absent, zero, equal to the price or below it, as in real feeds.
  public var compareAt: Int?
  /// Whether the variant is available.
  public var isAvailable: Bool
  /// The weight in grams.
  public var grams: Int
  /// The date of creation, in the text form of the feed.
  public var createdAt: String
  /// The date of the last change, in the text form of the feed.
  public var updatedAt: String

  /// Creates a variant from all of its fields.
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

  /// The title in the feed: the values of the options in one line.
  public var title: String { options.joined(separator: " / ") }
}

/// An image of a product.
public struct DemoImage: Sendable, Hashable {
  /// The id of the image.
  public var id: Int
  /// The address without the query, or only a file name, which the server completes.
  public var source: String
  /// The value of the query `?v=`, which changes with the file and sometimes without it.
  public var version: Int
  /// The width in pixels.
  public var width: Int
  /// The height in pixels.
  public var height: Int
  /// The ids of the variants that the image shows; empty if it shows none in particular.
  public var variantIDs: [Int]
  /// The date of creation, in the text form of the feed.
  public var createdAt: String

  /// Creates an image from all of its fields.
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
