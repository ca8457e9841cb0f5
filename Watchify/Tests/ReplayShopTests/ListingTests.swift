import Foundation
import ReplayShop
import Testing

@Suite("A replay shop lists")
struct ListingTests {
  static let shop = ShopGenerator(seed: 11, products: 520, variants: 1)

  @Test(
    "pages of 30, or of the requested size, up to 250",
    arguments: [
      ("", 0..<30), ("?limit=5", 0..<5), ("?limit=250", 0..<250), ("?limit=999", 0..<250), ("?limit=0", 0..<30),
      ("?limit=-1", 0..<30), ("?limit=x", 0..<30), ("?limit=250&page=3", 500..<520), ("?page=2", 30..<60),
      ("?page=0", 0..<30), ("?page=-4", 0..<30), ("?limit=250&page=4", 0..<0), ("?page=99999999999999999999", 0..<30),
      ("?%ZZ=1&&=&page", 0..<30), ("?limit=%32%35", 0..<25), ("?page=1?page=2", 0..<30),
    ])
  func pages(_ query: String, _ range: Range<Int>) async throws {
    try await withServer(Self.shop.feed) { _, port in
      let answer = try await ask(port, "/products.json\(query)")
      #expect(answer.status == 200)
      #expect(answer.header("Content-Type") == "application/json; charset=utf-8")
      #expect(try answer.products().map(\.id) == range.map { Self.shop.id(of: $0) })
    }
  }

  @Test("the same in a collection as in the whole shop")
  func collection() async throws {
    try await withServer(Self.shop.feed) { _, port in
      let all = try await ask(port, "/products.json?limit=3")
      #expect(try await ask(port, "/collections/mats/products.json?limit=3").body == all.body)
    }
  }

  @Test("no further than the window", arguments: [ReplayConfiguration.WindowAnswer.badRequest, .ok])
  func window(_ windowAnswer: ReplayConfiguration.WindowAnswer) async throws {
    try await withServer(Self.shop.feed, settings { $0.windowAnswer = windowAnswer }) { _, port in
      #expect(try await ask(port, "/products.json?limit=250&page=100").products() == [])
      for query in ["limit=250&page=101", "limit=30&page=834", "page=9223372036854775807"] {
        let beyond = try await ask(port, "/products.json?\(query)")
        #expect(beyond.status == (windowAnswer == .ok ? 200 : 400))
        #expect(beyond.text == #"{"errors":"Page * Limit exceeds the 25000 limit."}"#)
      }
    }
  }

  @Test("short pages, a hole, an early end and one page for all")
  func peculiarities() async throws {
    func counts(_ configure: (inout ReplayConfiguration) -> Void) async throws -> [Int] {
      try await withServer(Self.shop.feed, settings(configure)) { _, port in
        var counts: [Int] = []
        for page in 1...4 {
          counts.append(try await ask(port, "/products.json?limit=250&page=\(page)").products().count)
        }
        return counts
      }
    }
    #expect(try await counts { $0.leftOut = [1: 5] } == [245, 250, 20, 0])
    #expect(try await counts { $0.emptyPages = [2] } == [250, 0, 20, 0])
    #expect(try await counts { $0.lastPage = 1 } == [250, 0, 0, 0])
    #expect(try await counts { $0.ignoresPage = true } == [250, 250, 250, 250])
    #expect(try await counts { $0.leftOut = [3: 400] } == [250, 250, 0, 0])
  }

  @Test("a list that shifts once, between two pages")
  func shifting() async throws {
    try await withServer(Self.shop.feed, settings { $0.shiftsAfterPage = 1 }) { _, port in
      let first = try await ask(port, "/products.json?limit=10").products().map(\.id)
      let second = try await ask(port, "/products.json?limit=10&page=2").products().map(\.id)
      #expect(first.last == second.first)
      let again = try await ask(port, "/products.json?limit=10").products().map(\.id)
      #expect(Array(again.dropFirst()) == Array(first.dropLast()))
      #expect(try await ask(port, "/products.json?limit=10&page=2").products().map(\.id) == second)
    }
  }

  @Test(
    "in the requested market, which it states",
    arguments: [
      ("", "USD", "100.00", "125.00"), ("?country=GB", "GBP", "79.00", "98.75"),
      ("?country=us", "USD", "100.00", "125.00"),
      ("?currency=JPY", "JPY", "15150", "18938"), ("?country=GB&currency=SGD", "SGD", "134.00", "167.50"),
      ("?currency=USD&country=GB", "USD", "100.00", "125.00"), ("?country=XX", "USD", "100.00", "125.00"),
      ("?currency=QQQ", "USD", "100.00", "125.00"),
    ])
  func markets(_ query: String, _ currency: String, _ price: String, _ compareAt: String) async throws {
    let product = DemoProduct(
      id: 1, title: "The \"price\":\"1.00\" of a mat", handle: "m",
      variants: [DemoVariant(id: 2, price: 10_000, compareAt: 12_500)])
    try await withServer(ShopFeed(products: [product])) { server, port in
      let answer = try await ask(port, "/products.json\(query)", headers: ["Cookie: cart_currency=SGD"])
      #expect(answer.headers("Set-Cookie") == ["cart_currency=\(currency); path=/"])
      let listed = try #require(try answer.products().first)
      #expect(listed.title == product.title)
      #expect(listed.variants.map(\.price) == [price])
      #expect(listed.variants.map(\.compareAtPrice) == [compareAt])
      #expect(try await ask(port, "/cart.js\(query)").text.hasSuffix(#""currency":"\#(currency)"}"#))
    }
  }

  @Test("in another currency after a change, or without stating it")
  func currencySwitch() async throws {
    try await withServer { server, port in
      server.update { $0.switchCurrency(to: "SGD") }
      let switched = try await ask(port, "/products.json")
      #expect(switched.header("Set-Cookie") == "cart_currency=SGD; path=/")
      #expect(try await ask(port, "/products.json?country=US").header("Set-Cookie") == "cart_currency=USD; path=/")
      server.configure { $0.statesCurrency = false }
      #expect(try await ask(port, "/products.json").header("Set-Cookie") == nil)
    }
  }

  @Test("compressed, but only for clients that accept gzip")
  func compression() async throws {
    try await withServer(Self.shop.feed) { server, port in
      let plain = try await ask(port, "/products.json?limit=250")
      #expect(plain.header("Content-Encoding") == nil)
      for accepted in ["gzip", "deflate, gzip;q=0.5", "GZIP"] {
        let answer = try await ask(port, "/products.json?limit=250", headers: ["Accept-Encoding: \(accepted)"])
        #expect(answer.header("Content-Encoding") == "gzip")
        #expect(answer.header("Vary") == "Accept-Encoding")
        #expect(answer.body.starts(with: [0x1F, 0x8B]))
        #expect(answer.body.count == answer.length && answer.body.count * 3 < plain.body.count)
      }
      for refused in ["br", "gzip;q=0", "identity"] {
        let answer = try await ask(port, "/products.json?limit=250", headers: ["Accept-Encoding: \(refused)"])
        #expect(answer.header("Content-Encoding") == nil && answer.body == plain.body)
      }
      server.configure { $0.compresses = false }
      let off = try await ask(port, "/products.json?limit=250", headers: ["Accept-Encoding: gzip"])
      #expect(off.header("Content-Encoding") == nil)
    }
  }

  @Test("with tags that change with the content")
  func tags() async throws {
    try await withServer(Self.shop.feed) { server, port in
      let first = try await ask(port, "/products.json?limit=5")
      let tag = try #require(first.header("ETag"))
      #expect(tag.hasPrefix("W/\"cacheable:"))
      let same = try await ask(port, "/products.json?limit=5", headers: ["If-None-Match: \(tag)"])
      #expect(same.status == 304 && same.body == [] && same.header("ETag") == tag)
      #expect(same.header("Set-Cookie") == "cart_currency=USD; path=/")
      try server.update { try $0.setPrice(of: Self.shop.id(of: 2), to: 1) }
      let changed = try await ask(port, "/products.json?limit=5", headers: ["If-None-Match: \(tag)"])
      #expect(changed.status == 200 && changed.header("ETag") != tag)
      server.configure { $0.tagsEntities = false }
      #expect(try await ask(port, "/products.json", headers: ["If-None-Match: \(tag)"]).header("ETag") == nil)
    }
  }

  @Test("beside a home page, robots.txt and images")
  func others() async throws {
    try await withServer(Self.shop.feed, settings { $0.robots = "User-agent: *\nDisallow: /*.json\n" }) {
      server, port in
      let meta = try JSONSerialization.jsonObject(with: Data(try await ask(port, "/meta.json").body)) as? [String: Any]
      #expect(meta?["currency"] as? String == "USD" && meta?["country"] as? String == "US")
      #expect(meta?["name"] as? String == "Tarn & Lotus" && meta?["published_products_count"] as? Int == 520)
      #expect(try await ask(port, "/robots.txt").text == "User-agent: *\nDisallow: /*.json\n")
      server.configure { $0.robots = nil }
      #expect(try await ask(port, "/robots.txt").status == 404)
      #expect(try await ask(port, "/").text.contains("<h1>Tarn"))
      let product = try #require(try await ask(port, "/products.json").products().first)
      #expect(try await ask(port, "/products/\(product.handle)").text.contains(product.title))
      #expect(try await ask(port, "/products/\(product.handle).json").text.hasPrefix(#"{"product":{"id":"#))
      #expect(try await ask(port, "/products/nothing").status == 404)
      let image = try #require(product.images.first)
      let source = try #require(URL(string: image.src))
      #expect(source.port == Int(port) && source.host == "127.0.0.1")
      let picture = try await ask(port, source.path + "?v=1")
      #expect(picture.header("Content-Type") == "image/png")
      #expect(picture.body.prefix(8) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    }
  }

  @Test("under its canonical host")
  func canonicalHost() async throws {
    try await withServer { server, port in
      server.configure { $0.canonicalHost = "localhost:\(port)" }
      let moved = try await ask(port, "/products.json?limit=3&page=2")
      #expect(
        moved.status == 301 && moved.header("Location") == "http://localhost:\(port)/products.json?limit=3&page=2")
      server.configure { $0.canonicalHost = "127.0.0.1:\(port)" }
      #expect(try await ask(port, "/products.json").status == 200)
    }
  }
}
