import Coffer
import Foundation

/// Plausible products of a shop that does not exist, the same ones for the same seed.
struct Generator {
  private var random: SeededGenerator

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private static let styles = ["Classic", "Studio", "Travel", "Alpine", "Harbour", "Everyday", "Nordic", "Heritage"]
  private static let materials = ["cork", "wool", "linen", "natural rubber", "cotton", "oak", "recycled steel"]
  private static let kinds: [(name: String, price: Int, grams: Int)] = [
    ("Yoga Mat", 89, 2_400), ("Backpack", 119, 980), ("Blanket", 75, 1_300), ("Water Bottle", 29, 310),
    ("Running Jacket", 149, 420), ("Wall Clock", 64, 900), ("Tea Set", 98, 2_100), ("Sneaker", 135, 760),
  ]
  private static let sizes = ["XS", "S", "M", "L", "XL", "Café size"]
  private static let colours = ["black", "sand", "moss green", "sky blue", "rosé", "grey", "copper"]
  private static let vendors = ["Atelier Nord", "Müller & Söhne", "Casa Ibérica", "Bay Goods", "Tōkyō Living"]

  static func catalogue(count: Int) throws -> Catalogue {
    var generator = Generator(seed: 20_261_121)
    let items = try (0..<count).map { number in
      let product = generator.product(number)
      return Item(key: try StoreKey("product/generated/\(product.id)"), product: product)
    }
    return Catalogue(items: items, source: "made up by the demonstration itself, the same ones each time")
  }

  mutating func products(_ count: Int) -> [Product] { (0..<count).map { product($0) } }

  mutating func product(_ number: Int) -> Product {
    let (kind, price, grams) = pick(Self.kinds, default: ("Thing", 10, 100))
    let material = pick(Self.materials, default: "wood")
    let title = "\(pick(Self.styles, default: "Plain")) \(kind) in \(material)"
    let id = 8_000_000_000_000 + number
    let handle = title.lowercased().replacingOccurrences(of: " ", with: "-") + "-\(number)"
    let text =
      "<p>Our \(kind.lowercased()) is made of \(material) and made to last: "
      + "we repair it for \(Int.random(in: 2...20, using: &random)) years.</p>"
    let images = (1...Int.random(in: 1...4, using: &random)).map {
      Product.Image(src: "https://shop.example/files/\(handle)-\($0).jpg?v=\(id)", width: 1_600, height: 1_200)
    }
    return Product(
      id: id, title: title, handle: handle, vendor: pick(Self.vendors, default: "Nobody"), text: text, kind: kind,
      tags: [material, kind.lowercased(), "spring"], updatedAt: "2026-07-30T01:00:13-05:00",
      variants: variants(of: id, price: price, grams: grams), images: images)
  }

  private mutating func variants(of product: Int, price: Int, grams: Int) -> [Product.Variant] {
    let sizes = Self.sizes.prefix(Int.random(in: 1...Self.sizes.count, using: &random))
    let colour = pick(Self.colours, default: "white")
    return sizes.enumerated().map { index, size in
      let cents = price * 100 + index * 250 + [0, 45, 50, 95, 99][Int.random(in: 0..<5, using: &random)]
      let amount = Price(Decimal(cents) / 100)
      let isOnSale = Int.random(in: 0..<4, using: &random) == 0
      return Product.Variant(
        id: product * 10 + index, title: "\(size) / \(colour)", sku: "SKU-\(product % 1_000_000)-\(index)",
        price: amount, compareAtPrice: isOnSale ? Price(amount.amount + 20) : nil,
        available: Int.random(in: 0..<5, using: &random) > 0, grams: grams + index * 35)
    }
  }

  private mutating func pick<T>(_ list: [T], default fallback: T) -> T {
    list.randomElement(using: &random) ?? fallback
  }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed.
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
