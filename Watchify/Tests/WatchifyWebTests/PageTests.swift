import CofferTesting
import Foundation
import FoundationXML
import Testing
import WatchifyHTTP
import WatchifyKit

@testable import WatchifyWeb

@Suite("Pages", .serialized) struct PageTests {
  /// Checks that a response is a page that is well-formed and accessible, and returns its document.
  @discardableResult
  private func page(
    _ response: HTTPResponse, status: Int = 200, sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> XMLDocument {
    #expect(response.status == status, sourceLocation: sourceLocation)
    #expect(response.header("Content-Type") == "text/html; charset=utf-8", sourceLocation: sourceLocation)
    let policy = response.header("Content-Security-Policy") ?? ""
    #expect(policy.contains("default-src 'none'") && !policy.contains("unsafe"), sourceLocation: sourceLocation)
    let document = try XMLDocument(xmlString: response.text, options: [])
    func count(_ path: String) throws -> Int { try document.nodes(forXPath: path).count }
    for path in ["//h1", "//main", "/html/head/title", "//nav[@aria-label='Main']"] {
      #expect(try count(path) == 1, "\(path)", sourceLocation: sourceLocation)
    }
    for path in ["//@style", "//style", "//script[not(@src)]", "//@*[starts-with(name(), 'on')]", "//img[not(@alt)]"] {
      #expect(try count(path) == 0, "\(path)", sourceLocation: sourceLocation)
    }
    let ids = try document.nodes(forXPath: "//@id").compactMap(\.stringValue)
    #expect(Set(ids).count == ids.count, "ids are unique", sourceLocation: sourceLocation)
    for form in try document.nodes(forXPath: "//form[@method='post']") {
      #expect(try form.nodes(forXPath: "input[@name='csrf']").count == 1, sourceLocation: sourceLocation)
    }
    for field in try document.nodes(forXPath: "//input[not(@type='hidden')] | //select") {
      let id = (field as? XMLElement)?.attribute(forName: "id")?.stringValue ?? ""
      let isLabelled = try !field.nodes(forXPath: "ancestor::label").isEmpty
      #expect(try isLabelled || count("//label[@for='\(id)']") == 1, sourceLocation: sourceLocation)
    }
    for link in try document.nodes(forXPath: "//a/@href | //form/@action | //@src").compactMap(\.stringValue) {
      #expect(["/", "#", "h"].contains(link.prefix(1)), "\(link)", sourceLocation: sourceLocation)
    }
    return document
  }

  private func texts(_ document: XMLDocument, _ path: String) throws -> [String] {
    try document.nodes(forXPath: path).compactMap { $0.stringValue }
  }

  /// Follows a shop with three products, of which one becomes cheaper and one is sold out.
  private func news(_ bench: SiteBench) async throws -> UUID {
    let first: [ShopifyProduct] = [
      .make(1, "Cork Mat", prices: ["97.00", "97.00"]), .make(2, "Jute Bag"), .make(3, "Wool Sock"),
    ]
    let id = try await bench.follow("mats.example", name: "Mat House", first)
    bench.shops.serve(
      "mats.example", name: "Mat House",
      [
        .make(1, "Cork Mat", prices: ["67.90", "67.90"], compareAt: "97.00"), .make(2, "Jute Bag", available: false),
        .make(3, "Wool Sock"),
      ])
    try await bench.read(id)
    return id
  }

  @Test("Without a shop there are one field, one sentence and the demo shop")
  func welcome() async throws {
    var options = SiteOptions()
    options.startDemo = { "demo.example" }
    try await SiteBench.use(options) { bench in
      let document = try page(await bench.get("/"))
      #expect(try document.nodes(forXPath: "//input[not(@type='hidden')]").count == 1)
      #expect(try texts(document, "//main//button") == ["Follow", "Try the demo shop"])
      for path in ["/activity", "/products", "/shops", "/wishes", "/settings", "/health", "/shops/add"] {
        try page(await bench.get(path))
      }
    }
  }

  @Test("A shop is added by a form, with a page that reloads itself until it is read")
  func adding() async throws {
    try await SiteBench.use { bench in
      bench.shops.serve("mats.example", name: "Mat House", [.make(1, "Cork Mat")])
      let answer = await bench.post("/shops", [("address", "https://www.mats.example/products/cork-mat")])
      #expect(answer.status == 303)
      let job = try #require(answer.header("Location"))
      var location: String?
      try await eventually("the shop is read") {
        let shown = await bench.get(job)
        location = shown.header("Location")
        guard shown.status == 200 else { return true }
        let refreshes = try page(shown).nodes(forXPath: "//meta[@http-equiv='refresh']").count
        #expect(refreshes == 1)
        return false
      }
      let shop = try #require(location)
      let document = try page(await bench.get(shop))
      #expect(try texts(document, "//h1") == ["Mat House"])
      #expect(try texts(document, "//p[@class='done']").first?.hasPrefix("Added, with 1 product.") == true)
      let stores = try await bench.service.stores()
      #expect(stores.map(\.domain) == ["mats.example"])
      // The same shop again is refused with a reason.
      let again = try #require(await bench.post("/shops", [("address", "mats.example")]).header("Location"))
      var failed = ""
      try await eventually("it is refused") {
        failed = await bench.get(again).text
        return !failed.contains("http-equiv=\"refresh\"")
      }
      #expect(failed.contains("already followed, as Mat House"))
    }
  }

  @Test("What cannot be an address is refused beside the field, which keeps it")
  func badAddress() async throws {
    try await SiteBench.use { bench in
      let document = try page(await bench.post("/shops", [("address", "<not> an address")]), status: 422)
      #expect(try texts(document, "//input[@name='address']/@value") == ["<not> an address"])
      #expect(try texts(document, "//*[@role='alert']").count == 1)
      let country = await bench.post("/shops", [("address", "mats.example"), ("country", "GBR")])
      #expect(country.status == 422 && country.text.contains("two letters"))
      #expect(try await bench.service.stores().isEmpty)
    }
  }

  @Test("News is listed by product with prices, and filters combine")
  func activity() async throws {
    try await SiteBench.use { bench in
      let id = try await news(bench).uuidString.lowercased()
      #expect(await bench.get("/").header("Location") == "/activity")
      let all = try page(await bench.get("/activity"))
      #expect(try texts(all, "//ul[@class='news']/li//p[@class='subject']/a").sorted() == ["Cork Mat", "Jute Bag"])
      #expect(
        try texts(all, "//del").contains("from $97.00") && texts(all, "//span[@class='percent']") == ["−30\u{A0}%"])
      #expect(try texts(all, "/html/head/title").first?.hasPrefix("(3) Activity") == true)
      let cases = [
        ("type=stock", ["Jute Bag"]), ("type=price", ["Cork Mat"]), ("type=outOfStock", ["Jute Bag"]),
        ("type=backInStock", []), ("store=\(id)&since=today&unread=1&type=stock", ["Jute Bag"]),
        ("since=2099-01-01", []),
      ]
      for (query, titles) in cases {
        let document = try page(await bench.get("/activity?\(query)"))
        #expect(try texts(document, "//ul[@class='news']/li//p[@class='subject']/a") == titles, "\(query)")
      }
      for query in ["type=nonsense", "since=yesterday-ish", "page=0", "page=x"] {
        try page(await bench.get("/activity?\(query)"), status: 400)
      }
      try page(await bench.get("/activity?store=\(UUID())"), status: 404)
    }
  }

  @Test("Unread news of earlier pages comes first")
  func unreadFirst() async throws {
    try await SiteBench.use { bench in
      let id = try await bench.follow("mats.example", name: "Mat House", [.make(1, "Old Mat"), .make(2, "New Mat")])
      for round in 0..<60 {
        let price = "\(30 + round).00"
        let products: [ShopifyProduct] = [
          .make(1, "Old Mat", prices: [round == 0 ? "19.00" : "18.00"]), .make(2, "New Mat", prices: [price]),
        ]
        bench.shops.serve("mats.example", name: "Mat House", products)
        let news = try await bench.read(id)
        try await bench.service.markRead(ids: news.filter { $0.productTitle == "New Mat" }.map(\.id))
      }
      let document = try page(await bench.get("/activity"))
      let titles = try texts(document, "//ul[@class='news']/li//p[@class='subject']/a")
      #expect(titles.prefix(3) == ["Old Mat", "Old Mat", "New Mat"] && titles.count == 52)
      #expect(try texts(document, "//a[@rel='next']/@href") == ["/activity?page=2"])
      // The news of all pages is marked from each of them.
      bench.shops.serve("mats.example", name: "Mat House", [.make(1, "Old Mat"), .make(2, "New Mat")])
      try await bench.read(id)
      let second = try page(await bench.get("/activity?page=2"))
      let until = try #require(try texts(second, "//input[@name='until']/@value").first)
      _ = await bench.post("/activity/read", [("all", "1"), ("until", until), ("page", "2")])
      #expect(try await bench.service.unreadCount() == 0)
    }
  }

  @Test("Marking as read affects what the filter shows, and nothing that arrived later")
  func marking() async throws {
    try await SiteBench.use { bench in
      let id = try await news(bench)
      let shown = String(Int64(bench.now.timeIntervalSince1970 * 1_000))
      // Nothing is marked for an unknown value.
      #expect(await bench.post("/activity/read", [("all", "1"), ("type", "nonsense")]).status == 400)
      #expect(try await bench.service.unreadCount() == 3)
      bench.shops.serve(
        "mats.example", name: "Mat House",
        [
          .make(1, "Cork Mat", prices: ["67.90", "67.90"], compareAt: "97.00"), .make(2, "Jute Bag", available: false),
          .make(3, "Wool Sock", available: false),
        ])
      try await bench.read(id)
      let stock = EventFilter(changeTypes: [.outOfStock])
      #expect(try await bench.service.unreadCount(stock) == 2)
      let answer = await bench.post("/activity/read", [("all", "1"), ("until", shown), ("type", "outOfStock")])
      #expect(answer.status == 303 && answer.header("Location") == "/activity?type=outOfStock")
      let left = try await bench.service.events(EventFilter(changeTypes: [.outOfStock], unreadOnly: true))
      #expect(left.map(\.productTitle) == ["Wool Sock"])
      #expect(try await bench.service.unreadCount(EventFilter(changeTypes: [.priceDropped])) == 1)
      _ = await bench.post("/activity/read", [("event", left.map(\.id.uuidString).joined(separator: ","))])
      #expect(try await bench.service.unreadCount(stock) == 0)
    }
  }

  @Test("Products are searched, filtered, sorted and paged in one shop and in all")
  func products() async throws {
    try await SiteBench.use { bench in
      let mats = try await bench.follow(
        "mats.example", name: "Mat House",
        (1...60).map { .make(Int64($0), "Mat \(100 + $0)", prices: ["\($0).00"], available: $0 % 2 == 0) })
      try await bench.follow("bags.example", name: "Bag House", [.make(1, "Ähre Bag", prices: ["30.50"])])
      func titles(_ query: String) async throws -> [String] {
        try texts(page(await bench.get("/products?\(query)")), "//ul[@class='products']/li//a")
      }
      #expect(try await titles("").count == 50)
      #expect(try await titles("page=2").count == 11)
      #expect(try await titles("q=ahre") == ["Ähre Bag"])
      #expect(try await titles("q=mat+10").count == 10)
      #expect(try await Array(titles("sort=-price").prefix(2)) == ["Mat 160", "Mat 159"])
      #expect(try await titles("sort=price&page=1").dropFirst(29).prefix(3) == ["Mat 130", "Ähre Bag", "Mat 131"])
      #expect(try await titles("stock=out&store=\(mats)").count == 30)
      #expect(try await titles("stock=in&q=mat+15&sort=-price&store=\(mats)").first == "Mat 158")
      let empty = try page(await bench.get("/products?q=nothing"))
      #expect(try texts(empty, "//p[@class='empty-title']") == ["No matching products"])
      try page(await bench.get("/products?page=9"))
      for query in ["stock=maybe", "sort=color", "page=-1"] {
        try page(await bench.get("/products?\(query)"), status: 400)
      }
    }
  }

  @Test("A product shows each variant with its history, and takes a wish")
  func product() async throws {
    try await SiteBench.use { bench in
      let id = try await news(bench).uuidString.lowercased()
      bench.pass(hours: 6 * 24)
      let document = try page(await bench.get("/shops/\(id)/products/1"))
      #expect(try texts(document, "//h1") == ["Cork Mat"])
      #expect(try document.nodes(forXPath: "//svg").count == 2)
      #expect(try texts(document, "//span[@class='lowest-badge']") == ["lowest since 21 Oct", "lowest since 21 Oct"])
      #expect(
        try texts(document, "//a[contains(@rel, 'external')]/@href") == ["https://mats.example/products/product-1"])
      let answer = await bench.post(
        "/wishes", [("store", id), ("product", "1"), ("variant", "100"), ("kind", "price"), ("amount", "$60")])
      #expect(answer.status == 303)
      #expect(await bench.post("/wishes", [("q", "sock"), ("kind", "new")]).status == 303)
      let wishes = try page(await bench.get("/wishes"))
      #expect(try texts(wishes, "//ul[@class='checks']/li").count == 2)
      try page(await bench.post("/wishes", [("q", "sock"), ("kind", "price"), ("amount", "free")]), status: 422)
      try page(await bench.post("/wishes", [("q", "sock"), ("kind", "new")]), status: 422)
      try await edit(bench)
      for wish in try await bench.service.wishes() { _ = await bench.post("/wishes/\(wish.id)/remove") }
      #expect(try await bench.service.wishes().isEmpty)
      try page(await bench.get("/shops/\(id)/products/999"), status: 404)
      try page(await bench.get("/shops/\(id)/products/x"), status: 404)
    }
  }

  /// Changes the wishes for a price and for something new by their pages.
  private func edit(_ bench: SiteBench) async throws {
    let wishes = try await bench.service.wishes()
    let (price, new) = (try #require(wishes.first { $0.scope.productId == 1 }), try #require(wishes.first))
    let form = try page(await bench.get("/wishes/\(price.id)"))
    #expect(try texts(form, "//input[@name='amount']/@value") == ["60"])
    #expect(try texts(form, "//a[contains(@href, '/feed.atom?wish=')]").count == 1)
    let wrong = [("kind", "price"), ("amount", "59,90"), ("until", "2001-01-01")]
    try page(await bench.post("/wishes/\(price.id)/edit", wrong), status: 422)
    let right = [("kind", "price"), ("amount", "59,90"), ("until", "2100-01-31")]
    #expect(await bench.post("/wishes/\(price.id)/edit", right).header("Location") == "/wishes?done=edited")
    let changed = try #require(try await bench.service.wish(id: price.id))
    #expect(changed.condition == .priceAtMost(Decimal(string: "59.9") ?? 0))
    let again = try page(await bench.get("/wishes/\(price.id)"))
    #expect(try texts(again, "//input[@name='until']/@value") == ["2100-01-31"])
    #expect(try texts(try page(await bench.get("/wishes/\(new.id)")), "//ul[@class='products']/li").count == 1)
    #expect(await bench.post("/wishes/\(new.id)/edit", [("kind", "stock")]).status == 303)
    #expect(try await bench.service.wish(id: new.id)?.condition == .backInStock)
    try page(await bench.get("/wishes/\(UUID())"), status: 404)
    try page(await bench.post("/wishes/\(UUID())/edit", right), status: 404)
  }

  @Test("Health states when shops were read, what failed, what stays valid, and has one button for it")
  func health() async throws {
    var options = SiteOptions()
    options.health = {
      SiteHealth(
        isWatching: true, next: Date(timeIntervalSince1970: 1_792_665_000),
        channels: [.init(name: "desktop", isWorking: true), .init(name: "webhook", isWorking: nil)])
    }
    try await SiteBench.use(options) { bench in
      let id = try await news(bench)
      bench.shops.fail("mats.example", .invalidResponse(.passwordProtected))
      bench.pass(hours: 1)
      _ = try? await bench.service.sync(id)
      let document = try page(await bench.get("/health"))
      #expect(try texts(document, "//p[@class='lead']").first?.contains("desktop ok · webhook off") == true)
      let row = try #require(try texts(document, "//li[@class='bad']").first)
      #expect(row.contains("Store closed by password.") && row.contains("Showing data from"))
      #expect(try texts(document, "//li[@class='bad']//button") == ["Try again"])
      try page(await bench.get("/shops"))
      try page(await bench.get("/shops/\(id)"))
    }
  }

  @Test("A shop is edited, and removed only with its name")
  func editing() async throws {
    try await SiteBench.use { bench in
      let id = try await news(bench).uuidString.lowercased()
      try page(await bench.get("/shops/\(id)/edit"))
      #expect(await bench.post("/shops/\(id)/edit", [("name", "Mats & More"), ("country", "gb")]).status == 303)
      #expect(try await bench.service.stores().first?.country == "GB")
      try page(await bench.post("/shops/\(id)/edit", [("name", " ")]), status: 422)
      try page(await bench.get("/shops/\(id)/remove"))
      try page(await bench.post("/shops/\(id)/remove", [("name", "Mats")]), status: 422)
      #expect(try await bench.service.stores().count == 1)
      #expect(await bench.post("/shops/\(id)/remove", [("name", "mats & more")]).status == 303)
      #expect(try await bench.service.stores().isEmpty)
    }
  }

  @Test("Hostile texts of a shop stay texts on every page", arguments: attacks)
  func hostileTexts(_ attack: String) async throws {
    var options = SiteOptions()
    options.pictures = .direct
    try await SiteBench.use(options) { bench in
      let start = ShopifyProduct.make(1, attack, prices: ["9.00", "8.00"], images: ["javascript:alert(1)"])
      let id = try await bench.follow("mats.example", name: attack, [start, .make(2, "Plain")])
      var product = start
      product.variants[0].title = attack
      product.variants[0].price = Price("5.00") ?? .zero
      (product.vendor, product.productType, product.handle, product.variants[0].sku) = (attack, attack, attack, attack)
      bench.shops.serve("mats.example", name: attack, [product, .make(2, "Plain")])
      try await bench.read(id)
      bench.shops.fail("mats.example", .invalidResponse(.refused(reason: attack)))
      bench.pass(hours: 1)
      _ = try? await bench.service.sync(id)
      let query = FormCoding.encoded([("q", attack)])
      for path in [
        "/activity", "/products", "/products?\(query)", "/shops", "/shops/\(id)", "/shops/\(id)/products/1",
        "/shops/\(id)/edit", "/shops/\(id)/remove", "/health", "/wishes", "/shops/add?address=\(query)",
      ] {
        let document = try page(await bench.get(path))
        #expect(try document.nodes(forXPath: "//script").count == 1, "\(path)")
        #expect(try document.nodes(forXPath: "//img").isEmpty, "\(path)")
      }
    }
  }

  @Test("What does not exist or is not possible has a page that a person can read")
  func problems() async throws {
    try await SiteBench.use { bench in
      for path in ["/nothing", "/shops/x", "/shops/\(UUID())/y", "/jobs/x", "/..%2f..%2fetc%2fpasswd", "/assets/x.css"]
      {
        try page(await bench.get(path), status: 404)
      }
      let put = await bench.site.respond(to: HTTPRequest("PUT", "/activity"))
      try page(put, status: 405)
      #expect(put.header("Allow") == "GET, HEAD, POST")
      try page(await bench.post("/nothing"), status: 404)
      try await bench.container.close()
      try page(await bench.get("/activity"), status: 500)
    }
  }

  @Test("A request that the guard refuses reaches no page")
  func refusal() async throws {
    var options = SiteOptions()
    options.refusal = { $0.method == "POST" ? HTTPResponse(403, "text/plain", "no") : nil }
    try await SiteBench.use(options) {
      let answer = await $0.post("/settings", [("syncIntervalMinutes", "60")])
      #expect(answer.status == 403)
      let setting = try #require(WatchifySetting.named("syncIntervalMinutes"))
      #expect(try await setting.read($0.container.settings).isDefault)
    }
  }

  @Test("Assets are kept for a year under an address with their hash")
  func assets() async throws {
    try await SiteBench.use { bench in
      for asset in Assets.all {
        let answer = await bench.get(asset.link.text)
        #expect(answer.status == 200 && answer.text.utf8.count == asset.bytes.count)
        #expect(answer.header("Cache-Control")?.contains("immutable") == true)
        let again = await bench.site.respond(
          to: HTTPRequest("GET", asset.link.text, headers: [("If-None-Match", answer.header("ETag") ?? "")]))
        #expect(again.status == 304 && again.text.isEmpty)
      }
      #expect(Assets.script.bytes.count <= 30_000)
      let code = String(decoding: Assets.script.bytes + Assets.style.bytes, as: UTF8.self)
      #expect(!code.contains("http://") || code.components(separatedBy: "http://").count == 2, "only the name of SVG")
      #expect(!code.contains("https://") && !code.contains("innerHTML") && !code.contains("eval("))
    }
  }
}
