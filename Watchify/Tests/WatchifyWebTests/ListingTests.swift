import CofferSQLite
import Foundation
import FoundationXML
import ReplayShop
import Testing
import WatchifyHTTP

@testable import WatchifyKit
@testable import WatchifyWeb

@Suite("Lists of the products of all shops", .serialized) struct ListingTests {
  private func plan(_ query: ListingQuery, _ bench: SiteBench) async throws -> String {
    try await bench.container.database.read { transaction in
      let stores = try StoreRecord.all("ORDER BY no", [], in: transaction)
      let (rows, arguments) = StoreService.rows(of: query, in: stores, offset: 100, limit: 50)
      return try transaction.query("EXPLAIN QUERY PLAN \(rows)", arguments) { $0.text(3) }.joined(separator: "\n")
    }
  }

  @Test("They are merged from indexes without a sort", arguments: ProductSort.allCases, StockScope.allCases)
  func merge(_ sort: ProductSort, _ scope: StockScope) async throws {
    try await SiteBench.use { bench in
      for number in 1...3 { try await bench.follow("shop\(number).example", name: "Shop", [.make(1, "Mat")]) }
      let plan = try await plan(ListingQuery(stockScope: scope, sortOrder: sort), bench)
      #expect(plan.contains("MERGE (UNION ALL)") && !plan.contains("TEMP B-TREE"), "\(plan)")
      #expect(plan.components(separatedBy: "USING COVERING INDEX").count == 4, "\(plan)")
    }
  }

  @Test("A search uses the search index, whatever the order", arguments: ProductSort.allCases)
  func search(_ sort: ProductSort) async throws {
    try await SiteBench.use { bench in
      for number in 1...3 { try await bench.follow("shop\(number).example", name: "Shop", [.make(1, "Mat")]) }
      let plan = try await plan(ListingQuery(searchText: "rain jacket", sortOrder: sort), bench)
      #expect(plan.contains("VIRTUAL TABLE INDEX") && !plan.contains("SCAN products\n"), "\(plan)")
    }
  }

  @Test("Shops are found by words, and ordered as numbers are")
  func shops() async throws {
    try await SiteBench.use { bench in
      for (number, name) in ["Shop 10", "shop 9", "Zoo", "Shop 010a", "Äpfel & Mats"].enumerated() {
        try await bench.follow("number\(number).example", name: name, [.make(1, "Mat")])
      }
      func names(_ query: String) async throws -> [String] {
        let document = try XMLDocument(xmlString: await bench.get("/shops\(query)").text, options: [])
        return try document.nodes(forXPath: "//ul[@class='shops']/li//h2").compactMap(\.stringValue)
      }
      #expect(try await names("") == ["Äpfel & Mats", "shop 9", "Shop 10", "Shop 010a", "Zoo"])
      #expect(try await names("?q=shop+10") == ["Shop 10", "Shop 010a"])
      #expect(try await names("?q=apfel") == ["Äpfel & Mats"])
      #expect(try await names("?q=number2") == ["Zoo"])
      #expect(await bench.get("/shops?q=nothing").text.contains("No matching shops"))
    }
  }

  @Test("A row of news leads to its shop, and Read leads to the next one")
  func rows() async throws {
    try await SiteBench.use { bench in
      for number in 1...2 {
        let domain = "shop\(number).example"
        let id = try await bench.follow(domain, name: "Shop \(number)", [.make(1, "Mat"), .make(2, "Bag")])
        bench.shops.serve(domain, name: "Shop", [.make(1, "Mat", prices: ["5.00"]), .make(2, "Bag", available: false)])
        try await bench.read(id)
      }
      let document = try XMLDocument(xmlString: await bench.get("/activity").text, options: [])
      let shops = try document.nodes(forXPath: "//ul[@class='news']/li//a[@class='shop']/@href")
      #expect(shops.count == 4 && shops.allSatisfy { $0.stringValue?.hasPrefix("/shops/") == true })
      let ids = try document.nodes(forXPath: "//ul[@class='news']/li/@id").compactMap(\.stringValue)
      let next = try document.nodes(forXPath: "//input[@name='next']/@value").compactMap(\.stringValue)
      #expect(next == Array(ids.dropFirst()) + [ids[3]])
      let button = try document.nodes(forXPath: "//main//div[@class='head']//button").first?.stringValue
      #expect(button == "Mark all 4 pieces of news as read")
      let news = try await bench.service.events(EventFilter())
      let event = try #require(news.first)
      let store = try #require(event.storeId)
      let form = [("event", event.id.uuidString), ("next", ids[1]), ("page", "2")]
      #expect(await bench.post("/activity/read", form).header("Location") == "/activity?page=2#\(ids[1])")
      let back = await bench.post(
        "/activity/read", [("event", event.id.uuidString), ("shop", ids[0]), ("store", store.uuidString)])
      #expect(back.header("Location") == "/shops/\(store.uuidString.lowercased())#\(ids[0])")
    }
  }

  @Test("Pages of all shops together are the sorted union of the shops' lists")
  func union() async throws {
    try await SiteBench.use { bench in
      var all: [(title: String, price: Decimal)] = []
      for number in 1...3 {
        let generator = ShopGenerator(seed: UInt64(number), products: 70, variants: 2)
        let products = (0..<70).map { ShopifyProduct(generator.product($0)) }
        try await bench.follow("shop\(number).example", name: "Shop \(number)", products)
        all += products.map { ($0.title, $0.variants[0].price.decimal) }
      }
      var found: [ListedProductDTO] = []
      for page in 0..<5 {
        found += try await bench.service.listing(ListingQuery(sortOrder: .priceLowHigh), offset: page * 50, limit: 50)
      }
      #expect(found.map(\.product.cachedPrice) == all.map(\.price).sorted())
      #expect(Set(found.map(\.id)).count == 210)
      #expect(try await bench.service.listingCount(ListingQuery()) == 210)
      let named = try await bench.service.listing(ListingQuery(searchText: "mat"), limit: 500)
      let expected = all.filter { $0.title.localizedCaseInsensitiveContains("mat") }.map(\.title).sorted()
      #expect(named.map(\.product.title) == expected)
      #expect(try await bench.service.listing(ListingQuery(storeId: UUID())).isEmpty)
      #expect(try await bench.service.listingCount(ListingQuery(storeId: UUID())) == 0)
      #expect(try await bench.service.listing(ListingQuery(searchText: "\" OR *", stockScope: .inStock)).isEmpty)
    }
  }

  @Test("Without a shop there is nothing")
  func empty() async throws {
    try await SiteBench.use { bench in
      let (products, count) = (
        try await bench.service.listing(ListingQuery()), try await bench.service.listingCount(ListingQuery())
      )
      #expect(products.isEmpty && count == 0)
    }
  }

  /// Every page lists the stores, so that must not look at all of their products.
  @Test func storesAreListedWithoutASort() async throws {
    try await SiteBench.use { bench in
      let plan = try await bench.container.database.read { transaction in
        try transaction.query("EXPLAIN QUERY PLAN \(StoreService.previews)", [.integer(1)]) { $0.text(3) }
      }
      #expect(plan.contains { $0.contains("products_by_date") })
      #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(plan)")
    }
  }
}
