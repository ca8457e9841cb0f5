import Foundation
import ReplayShop
import Testing

@Suite("A feed")
struct FeedTests {
  /// A recording that is indented, with other members, with the word `products` in other positions, and with every kind
  /// of escape.
  static let recording = #"""
    {
      "note": "products",
      "other": {"products": [{"id": 9}]},
      "products": [
        {"id": 1, "title": "A \"quoted\" {mat} \\", "handle": "a", "body_html": "<p>x / y & z</p>\n",
         "updated_at": "2026-01-01T00:00:00-05:00", "images": [{"id": 5, "src": "https://cdn.example/a.jpg?v=12"}],
         "variants": [{"id": 11, "title": "Default Title", "option1": "Default Title", "price": "10.00",
           "compare_at_price": "12.50", "available": true}]},
        {"id": 2, "title": "Gr\u00fcn \/ \ud83c\udf32 [", "handle": "b", "updated_at": "", "images": [],
         "variants": [{"id": 21, "title": "S", "option1": "S", "price": "7", "available": false,
           "compare_at_price": null}]}
      ]
    }
    """#

  @Test("cuts a recording into its products, and gives it the wire form")
  func recorded() throws {
    let feed = try ShopFeed(recorded: Data(Self.recording.utf8))
    #expect(feed.ids == [1, 2])
    let json = feed.json(of: 0..<2)
    let text = String(decoding: json, as: UTF8.self)
    #expect(text.hasPrefix(#"{"products":[{"id":1,"title":"A \"quoted\" {mat} \\","handle":"a","#))
    #expect(text.contains(#""body_html":"\u003cp\u003ex \/ y \u0026 z\u003c\/p\u003e\n""#))
    #expect(text.contains(#"Gr\u00fcn \/ \ud83c\udf32 ["#))
    #expect(same(json, Data(Self.recording.utf8)))
  }

  @Test("keeps the text of a recording when asked to")
  func asRecorded() throws {
    let feed = try ShopFeed(recorded: Data(Self.recording.utf8), asRecorded: true)
    #expect(String(decoding: feed.json(of: 0..<2), as: UTF8.self).contains(#""body_html": "<p>x / y & z</p>\n""#))
    #expect(same(feed.json(of: 0..<2), Data(Self.recording.utf8)))
  }

  /// Returns whether two texts have equal `products`.
  private func same(_ one: Data, _ other: Data) -> Bool {
    let lists = [one, other].map { (try? JSONSerialization.jsonObject(with: $0) as? [String: Any])?["products"] }
    guard let first = lists[0] as? NSArray, let second = lists[1] as? NSArray else { return false }
    return first == second
  }

  @Test(
    "rejects data that is not a recording",
    arguments: [
      "", "<html>", "[]", "{}", #"{"products":1}"#, #"{"products":[{}]}"#, #"{"products":[{"id":"1"}]}"#,
      #"{"products":[1]}"#, #"{"products":[{"id":1}"#,
    ])
  func refuses(_ text: String) {
    #expect(throws: ReplayError.self) { try ShopFeed(recorded: Data(text.utf8)) }
  }

  @Test("reads an empty recording as an empty shop")
  func emptyRecording() throws {
    let feed = try ShopFeed(recorded: Data(#"{"products": [ ]}"#.utf8))
    #expect(feed.count == 0)
    #expect(feed.json(of: 0..<30) == Data(#"{"products":[]}"#.utf8))
  }

  @Test("changes a recorded product, and nothing else of it")
  func editsRecorded() throws {
    var feed = try ShopFeed(recorded: Data(Self.recording.utf8))
    try feed.setPrice(of: 1, to: 850)
    let product = try feed.product(1)
    #expect(product.title == "A \"quoted\" {mat} \\")
    #expect(product.variants.map(\.price) == [850])
    #expect(product.variants.map(\.compareAt) == [1_250])
    #expect(product.images.map(\.source) == ["https://cdn.example/a.jpg"])
    #expect(product.images.map(\.version) == [12])
    let text = String(decoding: feed.json(of: 0..<2), as: UTF8.self)
    #expect(text.contains(#""price":"8.50""#) && text.contains(#"https:\/\/cdn.example\/a.jpg?v=12"#))
  }

  @Test("supports each kind of change")
  func edits() throws {
    let shop = ShopGenerator(seed: 4, products: 6, variants: 3)
    var feed = shop.feed
    let before = try feed.product(shop.id(of: 2))
    let (id, variant) = (before.id, before.variants[1].id)
    try feed.changePrice(of: id, variant: variant, byPercent: -30)
    #expect(try feed.product(id).variants[1].price == before.variants[1].price * 70 / 100)
    #expect(try feed.product(id).variants[0] == before.variants[0])
    try feed.sellOut(id)
    #expect(try feed.product(id).variants.allSatisfy { !$0.isAvailable })
    try feed.restock(id, variant: variant)
    #expect(try feed.product(id).variants.map(\.isAvailable) == [false, true, false])
    try feed.setCompareAt(of: id, to: 0)
    #expect(String(decoding: feed.json(of: 2..<3), as: UTF8.self).contains(#""compare_at_price":"0.00""#))
    try feed.swapImage(of: id)
    #expect(try feed.product(id).images[0].source != before.images[0].source)
    try feed.addVariant(DemoVariant(id: 99, options: ["XXL", "Moss"], price: 1_200), to: id)
    #expect(try feed.product(id).variants.last?.title == "XXL / Moss")
    try feed.removeVariant(99, of: id)
    try feed.retitle(id, to: "Another")
    #expect(try feed.product(id).title == "Another")
    #expect(try feed.product(id).updatedAt > before.updatedAt)
    let removed = try feed.remove(id)
    #expect(feed.count == 5)
    feed.insert(removed)
    #expect(feed.ids.first == id)
  }

  @Test("changes nothing if the product or variant does not exist")
  func unknown() throws {
    let shop = ShopGenerator(products: 2)
    var feed = shop.feed
    let before = feed.json(of: 0..<2)
    #expect(throws: ReplayError.noProduct(1)) { try feed.setPrice(of: 1, to: 1) }
    #expect(throws: ReplayError.noVariant(product: shop.id(of: 0), variant: 1)) {
      try feed.sellOut(shop.id(of: 0), variant: 1)
    }
    #expect(feed.json(of: 0..<2) == before)
  }

  @Test("changes only updated_at")
  func touch() throws {
    let shop = ShopGenerator(products: 3)
    var feed = shop.feed
    try feed.touch(0..<2)
    for index in 0..<3 {
      var now = try feed.product(shop.id(of: index))
      #expect((now.updatedAt == shop.product(index).updatedAt) == (index == 2))
      now.updatedAt = shop.product(index).updatedAt
      #expect(now == shop.product(index))
    }
  }
}
