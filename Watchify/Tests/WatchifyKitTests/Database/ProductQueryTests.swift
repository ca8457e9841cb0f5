import CofferSQLite
import Foundation
import Testing

@testable import WatchifyKit

@Suite(.timeLimit(.minutes(15))) struct ProductQueryTests {
  private func shop() -> [ShopifyProduct] {
    let titles = ["Crème Mat", "creme brulee towel", "Block \"XL\"", "Æther 100% Wool_Mat", "Mat", "Ｗｉｄｅ mat"]
    return titles.enumerated().map { index, title in
      var product = product(Int64(index + 1), prices: ["\((index * 7) % 5 + 1)"], title: title)
      product.publishedAt = index == 4 ? nil : Date(timeIntervalSince1970: Double((index * 5) % 6) * 1_000)
      product.variants[0].available = index % 2 == 0
      return product
    }
  }

  // Requirements 2.7, 2.8
  @Test("Every word is found at any position, whatever its case, accents and width; there are no patterns")
  func search() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow(shop())
      for (text, found) in [
        ("", [1, 2, 3, 4, 5, 6]), ("MAT", [1, 4, 5, 6]), ("crème", [1, 2]), ("cre mat", [1]), ("rem", [1, 2]),
        ("x", [3]),
        ("\"xl\"", [3]), ("%", [4]), ("_", [4]), ("100%", [4]), ("wide", [6]), ("ma", [1, 4, 5, 6]),
        ("mat OR block", []),
        ("nothing", []), ("   ", [1, 2, 3, 4, 5, 6]), ("*", []), ("NEAR(mat)", []), ("'); DROP TABLE stores", []),
      ] {
        let products = await workshop.service.fetchProducts(storeId: id, searchText: text)
        #expect(Set(products.map(\.shopifyId)) == Set(found.map(Int64.init)), "\(text)")
        #expect(await workshop.service.fetchProductCount(storeId: id, searchText: text) == found.count, "\(text)")
      }
      #expect(await workshop.service.lastFailure == nil)
    }
  }

  // Requirements 2.7, 2.9
  @Test("Orders, stock and pages together")
  func lists() async throws {
    try await Workshop.use { workshop in
      let (service, all) = (workshop.service, shop())
      let id = try await workshop.follow(all)
      for sort in ProductSort.allCases {
        for scope in StockScope.allCases {
          let whole = await service.fetchProducts(storeId: id, stockScope: scope, sortOrder: sort, limit: 100)
          #expect(whole.count == (scope == .all ? 6 : 3))
          #expect(whole.allSatisfy { scope == .all || $0.cachedIsAvailable == (scope == .inStock) })
          switch sort {
          case .name: #expect(whole.map(\.title.foldedForSearch) == whole.map(\.title.foldedForSearch).sorted())
          case .priceLowHigh: #expect(whole.map(\.cachedPrice) == whole.map(\.cachedPrice).sorted())
          case .priceHighLow: #expect(whole.map(\.cachedPrice) == whole.map(\.cachedPrice).sorted(by: >))
          case .recentlyAdded: #expect(scope == .outOfStock || whole.last?.shopifyId == 5, "without a date: last")
          }
          var pages: [ProductDTO] = []
          for offset in stride(from: 0, to: 8, by: 2) {
            pages += await service.fetchProducts(
              storeId: id, stockScope: scope, sortOrder: sort, offset: offset, limit: 2)
          }
          #expect(pages == whole)
        }
      }
      #expect(await service.fetchProducts(storeId: UUID()).isEmpty)
      #expect(await service.fetchProducts(storeId: id, offset: -5, limit: -1).isEmpty)
    }
  }

  // Requirement 2.7
  @Test("A renamed product is found by its new name only; a removed one not at all")
  func renamed() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1, title: "Old name"), product(2)])
      try await workshop.sync(id, [product(1, title: "New name"), product(2)])
      #expect(await workshop.service.fetchProductCount(storeId: id, searchText: "old") == 0)
      #expect(await workshop.service.fetchProductCount(storeId: id, searchText: "new name") == 1)
      for _ in 0..<2 { try await workshop.sync(id, [product(2)]) }
      #expect(await workshop.service.fetchProductCount(storeId: id, searchText: "new name") == 0)
      try await workshop.container.database.write { transaction in
        try transaction.execute("INSERT INTO product_titles (product_titles) VALUES ('integrity-check')")
      }
    }
  }
}
