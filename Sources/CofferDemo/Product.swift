import Coffer

/// A product of an imaginary shop. The same number yields the same product.
struct Product: Codable, Hashable, Sendable {
  private static let kinds = ["Yoga Mat", "Backpack", "Blanket", "Water Bottle", "Wall Clock", "Tea Set", "Sneaker"]
  private static let vendors = ["Atelier Nord", "Müller & Söhne", "Casa Ibérica", "Bay Goods", "Tōkyō Living"]

  var title: String
  var vendor: String
  var text: String
  var cents: Int

  init(number: Int) {
    title = Self.kinds[number % Self.kinds.count] + " No. \(number)"
    vendor = Self.vendors[number % Self.vendors.count]
    text = String(repeating: "Made to last: we repair it for \(number % 19 + 2) years. ", count: number % 7 + 1)
    cents = number * 997 % 20_000
  }
}

extension KeyName {
  /// The key of a product, or of another numbered value.
  static func numbered(_ number: Int, in group: String = "product") throws -> KeyName {
    try KeyName("\(group)/\(1_000 + number)")
  }
}
