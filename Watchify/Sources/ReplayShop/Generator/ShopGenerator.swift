/// A generator of the products of an invented shop, which are the same for the same seed on every machine.
///
/// Each product depends only on the seed and its index, so a shop of 25,000 products costs nothing until they are
/// requested. Proportions are about those of real feeds: no crossed-out price in two cases of five, otherwise one above
/// the price, equal to it or, rarely, `0.00`; an empty or absent SKU for every fourth product; every seventh variant
/// sold out.
public struct ShopGenerator: Sendable, Hashable {
  /// The seed that determines the products.
  public let seed: UInt64
  /// The number of products.
  public let products: Int
  /// The number of variants of each product.
  public let variants: ClosedRange<Int>

  /// Creates a shop whose products all have the same number of variants, 1 to 100.
  public init(seed: UInt64 = 1, products: Int, variants: Int = 4) {
    self.init(seed: seed, products: products, variants: variants...variants)
  }

  /// Creates a shop whose products have different numbers of variants within a range.
  public init(seed: UInt64 = 1, products: Int, variants: ClosedRange<Int>) {
    self.seed = seed
    self.products = max(0, products)
    self.variants = variants.clamped(to: 1...100)
  }

  /// A feed of all products.
  public var feed: ShopFeed { ShopFeed(generator: self) }

  /// Returns the id of the product at an index.
  public func id(of index: Int) -> Int { 8_014_000_000_000 + index * 4_096 }

  /// Returns the product at an index. Indices from `products` on denote products that are not in the feed.
  public func product(_ index: Int) -> DemoProduct {
    var dice = Dice(seed: seed ^ (UInt64(truncatingIfNeeded: index) &+ 1) &* 0xD1B5_4A32_D192_ED03)
    let kind = ShopWords.kinds[index % ShopWords.kinds.count]
    let title = title(of: index, kind: kind)
    let handle = Self.handle(of: title)
    let count = variants.lowerBound + dice.below(variants.count)
    let created = moment(&dice, year: 2025)
    let updated = moment(&dice, year: 2026)
    let forms = forms(count, of: kind, &dice)
    let images = images(index, handle: handle, color: forms.color, created: created, &dice)
    return DemoProduct(
      id: id(of: index), title: title, handle: handle, bodyHTML: text(kind, title, &dice),
      vendor: dice.happens(85) ? ShopWords.shop : "Hill & Hearth", productType: dice.happens(90) ? kind.type : "",
      tags: tags(kind, &dice), optionNames: forms.names, publishedAt: created, createdAt: created, updatedAt: updated,
      variants: self.variants(index, kind, forms.options, created: created, updated: updated, &dice), images: images)
  }

  private func title(of index: Int, kind: ShopWords.Kind) -> String {
    let (lines, makes) = (ShopWords.lines, ShopWords.makes)
    let line = lines[(index / ShopWords.kinds.count + index) % lines.count]
    let make = makes[(index / (ShopWords.kinds.count * lines.count)) % makes.count]
    let edition = index / (ShopWords.kinds.count * lines.count * makes.count)
    let name = [line, make, kind.noun].filter { !$0.isEmpty }.joined(separator: " ")
    return edition == 0 ? name : "\(name) No. \(edition + 1)"
  }

  /// Returns the handle of a title: `tarn-day-pack-22-l` for `Tarn Day Pack 22 L`.
  private static func handle(of title: String) -> String {
    var bytes: [UInt8] = []
    for byte in title.utf8 {
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): bytes.append(byte + 32)
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): bytes.append(byte)
      default: if bytes.last != UInt8(ascii: "-") { bytes.append(UInt8(ascii: "-")) }
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private func text(_ kind: ShopWords.Kind, _ title: String, _ dice: inout Dice) -> String {
    let maker = dice.pick(from: ["a family workshop", "two sisters", "a small mill", "people who hike"])
    return """
      <p>The \(title) is made by \(maker), for \(kind.purpose).</p>
      <ul>
      <li>Weight: \(kind.grams) g</li>
      <li>Care: <b>cold wash</b> &amp; air dry</li>
      </ul>
      """
  }

  private func tags(_ kind: ShopWords.Kind, _ dice: inout Dice) -> [String] {
    var tags = [kind.type]
    for tag in ShopWords.tags where dice.happens(22) { tags.append(tag) }
    return tags
  }

  /// Returns the option values of a number of variants: sizes in as few colours as needed.
  private func forms(
    _ count: Int, of kind: ShopWords.Kind, _ dice: inout Dice
  ) -> (names: [String], options: [[String]], color: String) {
    let names = ShopWords.sizes(of: kind)
    let first = dice.below(ShopWords.colors.count)
    func color(_ index: Int) -> String { ShopWords.colors[(first + index) % ShopWords.colors.count] }
    guard count > 1 else { return (["Title"], [["Default Title"]], color(0)) }
    let colors = max(count >= 4 ? 2 : 1, (count + names.count - 1) / names.count)
    let sizes = (count + colors - 1) / colors
    let start = sizes > 4 ? 0 : 1
    let options = (0..<count).map { [names[start + $0 % sizes], color($0 / sizes)] }
    return (["Size", "Color"], options, color(0))
  }

  private func variants(
    _ index: Int, _ kind: ShopWords.Kind, _ options: [[String]], created: String, updated: String,
    _ dice: inout Dice
  ) -> [DemoVariant] {
    let price = (kind.price + dice.below(kind.price / 4 + 2)) * 100 - (dice.happens(40) ? 5 : 0)
    let former = formerPrice(of: price, &dice)
    let number: (Int) -> String? =
      switch dice.below(100) {
      case 0..<13: { _ in "" }
      case 13..<26: { _ in nil }
      default: { "TL-\(index + 10_000)-\($0 + 1)" }
      }
    return options.enumerated().map { position, option in
      DemoVariant(
        id: 44_000_000_000_000 + index * 32_768 + position * 256, options: option, sku: number(position), price: price,
        compareAt: former, isAvailable: dice.happens(86), grams: kind.grams, createdAt: created, updatedAt: updated)
    }
  }

  private func formerPrice(of price: Int, _ dice: inout Dice) -> Int? {
    switch dice.below(1_000) {
    case 0..<420: nil
    case 420..<840: price * (115 + dice.below(40)) / 100 / 100 * 100
    case 840..<990: price
    case 990..<997: 0
    default: price - 100
    }
  }

  private func images(
    _ index: Int, handle: String, color: String, created: String, _ dice: inout Dice
  ) -> [DemoImage] {
    (0...dice.below(2)).map { position in
      DemoImage(
        id: 37_000_000_000_000 + index * 32_768 + position * 256,
        source: "\(handle)-\(position + 1)-\(ShopWords.paint(color)).png",
        version: 1_760_000_000 + dice.below(9_000_000),
        createdAt: created)
    }
  }

  private func moment(_ dice: inout Dice, year: Int) -> String {
    func two(_ number: Int) -> String { (number < 10 ? "0" : "") + String(number) }
    let (month, day, hour) = (1 + dice.below(5), 1 + dice.below(28), 6 + dice.below(16))
    return "\(year)-\(two(month))-\(two(day))T\(two(hour)):\(two(dice.below(60))):\(two(dice.below(60)))-05:00"
  }
}
