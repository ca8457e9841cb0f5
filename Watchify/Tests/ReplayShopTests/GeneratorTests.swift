import Foundation
import ReplayShop
import Testing

@Suite("A generated shop")
struct GeneratorTests {
  @Test("is determined by its seed")
  func determinism() {
    let one = ShopGenerator(seed: 7, products: 300, variants: 1...8).feed.json(of: 0..<300)
    #expect(one == ShopGenerator(seed: 7, products: 300, variants: 1...8).feed.json(of: 0..<300))
    #expect(one != ShopGenerator(seed: 8, products: 300, variants: 1...8).feed.json(of: 0..<300))
  }

  @Test("is unchanged: images of pages and recorded tests depend on it")
  func golden() {
    let product = ShopGenerator(seed: 1, products: 1, variants: 1).product(0)
    #expect(product.title == "Tarn Cork Mat")
    #expect(product.variants.map(\.title) == ["Default Title"])
    #expect(product.variants.map(\.price) == [10_295])
  }

  @Test("does not depend on how many products it has")
  func indicesAreIndependent() {
    let small = ShopGenerator(seed: 3, products: 5, variants: 4)
    let large = ShopGenerator(seed: 3, products: 25_000, variants: 4)
    #expect(small.product(4) == large.product(4))
  }

  @Test("has 25,000 products of 4 variants in 100 pages of valid JSON, each product once")
  func manyProducts() throws {
    let feed = ShopGenerator(seed: 5, products: 25_000, variants: 4).feed
    var ids: Set<Int> = []
    var variants: Set<Int> = []
    var handles: Set<String> = []
    for page in 0..<100 {
      let json = feed.json(of: page * 250..<(page + 1) * 250)
      let object = try JSONSerialization.jsonObject(with: json) as? [String: [[String: Any]]]
      for product in try #require(object?["products"]) {
        ids.insert(try #require(product["id"] as? Int))
        handles.insert(try #require(product["handle"] as? String))
        for variant in try #require(product["variants"] as? [[String: Any]]) {
          variants.insert(try #require(variant["id"] as? Int))
        }
      }
    }
    #expect(ids.count == 25_000)
    #expect(handles.count == 25_000)
    #expect(variants.count == 100_000)
  }

  @Test("has every field of a real feed, in its wire form")
  func wireForm() throws {
    let feed = ShopGenerator(seed: 2, products: 250, variants: 1...8).feed
    let text = String(decoding: feed.json(of: 0..<250), as: UTF8.self)
    #expect(!text.contains("\n") && !text.contains("\": ") && !text.contains("<") && !text.contains("&"))
    #expect(text.contains(#"\u003cp\u003e"#) && text.contains(#"\u0026"#) && text.contains(#"https:\/\/cdn.example\/"#))
    for part in [
      #""title":"Default Title","option1":"Default Title","option2":null,"option3":null"#, #""sku":"""#, #""sku":null"#,
      #""compare_at_price":null"#, #""compare_at_price":"0.00""#, #""available":false"#, #".png?v=17"#,
      #""options":[{"name":"Size","position":1,"values":["#, #""name":"Color""#,
    ] {
      #expect(text.contains(part), "\(part) is missing")
    }
    let object = try JSONSerialization.jsonObject(with: feed.json(of: 0..<1)) as? [String: Any]
    let product = try #require((object?["products"] as? [[String: Any]])?.first)
    #expect(
      Set(product.keys) == [
        "id", "title", "handle", "body_html", "published_at", "created_at", "updated_at", "vendor", "product_type",
        "tags", "variants", "images", "options",
      ])
    let variant = try #require((product["variants"] as? [[String: Any]])?.first)
    #expect(
      Set(variant.keys) == [
        "id", "title", "option1", "option2", "option3", "sku", "requires_shipping", "taxable", "featured_image",
        "available", "price", "grams", "compare_at_price", "position", "product_id", "created_at", "updated_at",
      ])
    let image = try #require((product["images"] as? [[String: Any]])?.first)
    #expect(
      Set(image.keys) == [
        "id", "created_at", "position", "updated_at", "product_id", "variant_ids", "src", "width", "height",
      ])
  }

  @Test("gives each product as many variants as asked, all different", arguments: [1, 2, 3, 4, 7, 12, 54, 100])
  func variantCounts(_ count: Int) {
    for index in 0..<20 {
      let product = ShopGenerator(products: 20, variants: count).product(index)
      #expect(product.variants.count == count)
      #expect(Set(product.variants.map(\.title)).count == count)
    }
  }

  @Test("has a timeline whose steps apply the changes that they name")
  func demo() throws {
    var feed = ReplayTimeline.demoShop.feed
    var counts: [Int] = []
    var pages: Set<Data> = [feed.json(of: 0..<100)]
    for step in ReplayTimeline.demo.steps {
      try step.change(&feed)
      counts.append(feed.count)
      pages.insert(feed.json(of: 0..<100))
    }
    #expect(counts == [48, 48, 49, 49, 48, 49])
    #expect(pages.count == 7)
    let dropped = try feed.product(ReplayTimeline.demoShop.id(of: 0))
    for variant in dropped.variants {
      #expect(Double(variant.price) < 0.75 * Double(variant.compareAt ?? 0))
    }
  }
}
