import Foundation
import Testing

@testable import WatchifyKit

/// First reads, which report no news, also after an empty read or a read of another market.
@Suite(.timeLimit(.minutes(15))) struct FirstReadTests {
  @Test("The first read for a country reports no news if the previous one was for none")
  func firstPinned() async throws {
    try await Workshop.use { workshop in
      workshop.shop.describe(ShopDescription())
      func list(_ factor: Double, _ own: Int64) -> [ShopifyProduct] {
        (1...8).map { product($0, prices: [String(format: "%.2f", 10.37 * Double($0) * factor)]) }
          + [product(own, prices: ["5"])]
      }
      let id = try await workshop.follow(list(1.12, 50))
      #expect(try await workshop.service.stores().map(\.country) == ["US"], "by its currency")
      #expect(try await workshop.sync(id, list(1, 60)).isEmpty)
      #expect(try await workshop.sync(id, list(1, 60)).isEmpty)
      #expect(workshop.shop.countries == [nil, "US", "US"])
      #expect(try await workshop.service.products(storeId: id, named: "60").map(\.cachedPrice) == [5])
      var cut = list(1, 60)
      cut[0] = product(1, prices: ["8"])
      cut.append(product(61))
      let news = try await workshop.sync(id, cut)
      #expect(Set(news.map(\.changeType)) == [.priceDropped, .newProduct])
      #expect(news.first { $0.changeType == .priceDropped }?.oldValue == "$10.37")
    }
  }

  @Test("A shop that redirects to its own market serves the second read in another currency, without news")
  func firstPinnedCurrency() async throws {
    try await Workshop.use { workshop in
      workshop.shop.describe(ShopDescription())
      let id = try await workshop.follow([product(1)], currency: "USD")
      #expect(try await workshop.sync(id, [product(1, prices: ["80"])], currency: "GBP").isEmpty)
      // From here on changes are reported.
      #expect(
        try await workshop.sync(id, [product(1, prices: ["100"])], currency: "USD").map(\.changeType)
          == [.currencyChanged])
    }
  }

  @Test("The first products of a store that was empty when added are news, in any market")
  func emptyAtFirst() async throws {
    try await Workshop.use { workshop in
      workshop.shop.serve([], isComplete: false)
      let id = try await workshop.service.addStore(name: nil, domain: "mats.example")
      workshop.clock.turn(61)
      let first = try await workshop.sync(id, [product(1), product(2)], currency: "GBP")
      #expect(first.map(\.changeType) == [.newProduct, .newProduct])
      let second = [product(1, prices: ["50"]), product(2), product(3)]
      #expect(try await workshop.sync(id, second, currency: "GBP").count == 2)
    }
  }
}
