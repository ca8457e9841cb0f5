import CofferTesting
import Foundation
import ReplayShop
import WatchifyKit

@testable import WatchifyWeb

/// A site with two shops, served at a free port of this device.
struct ServedBench: Sendable {
  let bench: SiteBench
  let server: SiteServer
  let url: String
  let store: UUID
  let products: [ShopifyProduct]

  /// Runs a body with the site, which has news: a price that fell, and a product that is sold out.
  static func use(
    _ change: (inout SiteServer.Configuration) -> Void = { _ in },
    options adapt: (inout SiteOptions) -> Void = { _ in }, _ body: (ServedBench) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    try await SiteBench.use { bench in
      let generator = ShopGenerator(seed: 2_026, products: 48, variants: 1...8)
      var products = (0..<48).map { ShopifyProduct(generator.product($0)) }
      let store = try await bench.follow("tarn.example", name: "Tarn & Lotus", products)
      for index in products[0].variants.indices {
        products[0].variants[index].compareAtPrice = products[0].variants[index].price
        products[0].variants[index].price = Price(tenThousandths: 49_0000)
      }
      for index in products[1].variants.indices { products[1].variants[index].available.toggle() }
      bench.shops.serve("tarn.example", name: "Tarn & Lotus", country: "US", products)
      try await bench.read(store)
      var configuration = SiteServer.Configuration()
      configuration.port = 0
      change(&configuration)
      var options = SiteOptions()
      options.pictures = .cached
      options.now = { bench.now }
      adapt(&options)
      let server = try SiteServer(
        service: bench.service, container: bench.container,
        pictures: directory.url.appendingPathComponent("pictures"), configuration: configuration, options: options)
      try server.start()
      let url = String((server.url?.absoluteString ?? "").dropLast())
      let served = ServedBench(bench: bench, server: server, url: url, store: store, products: products)
      do { try await body(served) } catch {
        await server.stop()
        throw error
      }
      await server.stop()
    }
  }

  /// The addresses of every kind of page, without the host.
  var pages: [String] {
    let shop = "/shops/\(store.uuidString.lowercased())"
    return [
      "/activity", "/activity?unread=1&type=price", "/shops", shop, "/products", "/products?q=mat&stock=in&sort=-price",
      "\(shop)/products/\(products[0].id)", "/wishes", "/settings", "/health", "/nowhere",
      "/shops/add", "\(shop)/edit", "\(shop)/remove",
    ]
  }

  /// Texts that a shop may have as titles, and that break layouts.
  static let hostileTexts = [
    String(repeating: "W", count: 2_000), "a" + String(repeating: "\u{30F}\u{316}", count: 150) + "z", "",
    "\u{3164}\u{200B}",
    String(repeating: "rain jacket ", count: 170), "\u{202E}desrever\u{202C} \u{1B}[2J <b>bold</b>",
  ]

  /// A configuration of the server with an access token.
  static func requireToken(_ configuration: inout SiteServer.Configuration) { configuration.accessToken = token }
  static let token = "a token of enough length"

  /// Follows a shop all of whose texts are hostile, with news and wishes.
  /// - Returns: The addresses of the pages that show them, without the host.
  func followHostileShop() async throws -> [String] {
    let texts = Self.hostileTexts
    var products = texts.enumerated().map { index, text in
      ShopifyProduct.make(Int64(index + 1), text, prices: ["20.00", "30.00", "999999999.99"])
    }
    for index in products.indices {
      (products[index].vendor, products[index].productType) = (texts[0], texts[1])
      for number in products[index].variants.indices {
        products[index].variants[number].title = texts[(index + number) % texts.count]
        products[index].variants[number].sku = texts[0]
      }
    }
    let domain = String(repeating: "w", count: 60) + ".example"
    let id = try await bench.follow(domain, name: texts[0], products)
    for index in products.indices {
      products[index].variants[0].price = Price(tenThousandths: 12_3456)
      products[index].variants[1].available = false
    }
    bench.shops.serve(domain, name: texts[0], products)
    try await bench.read(id)
    for scope in [
      WishScope.product(storeId: id, productId: 1), .search(storeId: nil, text: String(repeating: "w", count: 200)),
    ] {
      _ = try await bench.service.addWish(scope, .priceAtMost(1), currency: "USD")
    }
    bench.shops.fail(domain, .invalidResponse(.refused(reason: texts[0])))
    bench.pass(hours: 1)
    _ = try? await bench.service.sync(id)
    let (shop, wish) = (
      "/shops/\(id.uuidString.lowercased())", try await bench.service.wishes().first?.id.uuidString ?? ""
    )
    return ["/activity", "/shops", "/products", "/wishes", "/wishes/\(wish)", "/health", shop]
      + ["edit", "remove"].map { "\(shop)/\($0)" } + texts.indices.map { "\(shop)/products/\($0 + 1)" }
  }

  /// Reads the shop once a day for as long as `change` returns `true`, which is given the number of the day.
  func live(_ change: (Int, inout [ShopifyProduct]) -> Bool) async throws {
    var products = products
    for day in 1... {
      guard change(day, &products) else { return }
      bench.shops.serve("tarn.example", name: "Tarn & Lotus", country: "US", products)
      try await bench.read(store)
    }
  }

  /// Lowers a price, as a sync by any process would find it.
  func changePrice(to units: Int64) async throws {
    var products = products
    products[2].variants[0].price = Price(tenThousandths: units * 10_000)
    bench.shops.serve("tarn.example", name: "Tarn & Lotus", country: "US", products)
    try await bench.read(store)
  }
}
