import Coffer
import Foundation

/// A product in the format that Shopify shops publish as `/products.json` and that the demonstration stores.
struct Product: Codable, Hashable, Sendable {
  var id: Int
  var title: String
  var handle: String
  var vendor: String
  var text: String?
  var kind: String?
  var tags: [String]?
  var updatedAt: String?
  var variants: [Variant]
  var images: [Image]?

  enum CodingKeys: String, CodingKey {
    case id, title, handle, vendor, tags, variants, images
    case text = "body_html"
    case kind = "product_type"
    case updatedAt = "updated_at"
  }

  struct Variant: Codable, Hashable, Sendable {
    var id: Int
    var title: String
    var sku: String?
    var price: Price
    var compareAtPrice: Price?
    var available: Bool
    var grams: Int?

    enum CodingKeys: String, CodingKey {
      case id, title, sku, price, available, grams
      case compareAtPrice = "compare_at_price"
    }
  }

  struct Image: Codable, Hashable, Sendable {
    var src: String
    var width: Int?
    var height: Int?

    init(src: String, width: Int?, height: Int?) { (self.src, self.width, self.height) = (src, width, height) }

    /// Decodes an image: most shops publish an object, some only its address.
    init(from decoder: any Decoder) throws {
      if let address = try? decoder.singleValueContainer().decode(String.self) {
        self.init(src: address, width: nil, height: nil)
        return
      }
      let container = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        src: try container.decode(String.self, forKey: .src),
        width: try container.decodeIfPresent(Int.self, forKey: .width),
        height: try container.decodeIfPresent(Int.self, forKey: .height))
    }
  }
}

/// An exact amount of money, encoded as text in JSON as shops do, since binary fractions cannot represent 0.10.
struct Price: Codable, Hashable, Comparable, Sendable, CustomStringConvertible {
  let amount: Decimal

  init(_ amount: Decimal) { self.amount = amount }

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let amount = Decimal(string: try container.decode(String.self), locale: Locale(identifier: "en_US_POSIX"))
    else { throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an amount of money") }
    self.amount = amount
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode("\(amount)")
  }

  /// The amount with two decimal places, for display.
  var text: String { decimals(NSDecimalNumber(decimal: amount).doubleValue, 2) }

  static func < (left: Price, right: Price) -> Bool { left.amount < right.amount }
  var description: String { "\(amount)" }
}

/// A product and the key under which it is stored.
struct Item: Sendable {
  let key: KeyName
  let product: Product
}

/// The products that the demonstration stores, and their source.
struct Catalogue: Sendable {
  let items: [Item]
  let source: String
  /// Remarks on the source, such as skipped files; may be empty.
  var notes: [String] = []
  var variants: Int { items.reduce(0) { $0 + $1.product.variants.count } }
}
