import CofferSQLite
import Foundation
import Testing

@testable import WatchifyKit

/// Many wishes about many products; `./run prove` runs it with 1,000 wishes and 25,000 products.
@Suite(.timeLimit(.minutes(15)), .serialized) struct WishLoadTests {
  private static let isProving = ProcessInfo.processInfo.environment["COFFER_PROVE"] != nil
  private static let words = ["Cork", "Rain", "Wool", "Linen", "Pebble", "Lotus", "Sea", "Chalk", "Moss", "Dune"]

  private func products(_ count: Int, price: String) -> [ShopifyProduct] {
    (1...count).map { number in
      let words = [number, number / 10, number / 100].map { Self.words[$0 % Self.words.count] }
      return product(
        Int64(number), prices: [price, price], title: "\(words.joined(separator: " ")) Jacket \(number)")
    }
  }

  private func add(_ count: Int, _ store: UUID, _ service: StoreService) async throws {
    for number in 0..<count {
      let words = "\(Self.words[number % 10]) \(Self.words[number / 10 % 10]) \(number / 100)"
      let scope: WishScope =
        number % 2 == 0 ? .search(storeId: nil, text: words) : .product(storeId: store, productId: Int64(number + 1))
      let condition = [WishCondition.priceAtMost(70), .percentOff(20), .backInStock, .newMatch][number / 2 % 4]
      let possible = if case .newMatch = condition, number % 2 == 1 { WishCondition.priceAtMost(71) } else { condition }
      _ = try await service.addWish(scope, possible)
    }
  }

  @Test("A sync in which every price changes judges all wishes in bounded time")
  func everything() async throws {
    let (products, wishes) = Self.isProving ? (25_000, 1_000) : (1_500, 100)
    try await Workshop.use { workshop in
      let service = workshop.service
      let id = try await workshop.follow(self.products(products, price: "100"))
      let clock = ContinuousClock()
      var news = 0
      let bare = try await clock.measure {
        try await workshop.sync(id, self.products(products, price: "110"))
      }
      let adding = try await clock.measure { try await add(wishes, id, service) }
      let judged = try await clock.measure {
        news = try await workshop.wished(id, self.products(products, price: "60")).count
      }
      let quiet = try await clock.measure {
        try await workshop.sync(id, self.products(products - 1, price: "60") + [product(99_999)])
      }
      let listing = try await clock.measure { _ = try await service.wishes() }
      let page = try await clock.measure { _ = try await service.products(ProductQuery(storeId: id), limit: 50) }
      let all = try await clock.measure { _ = try await service.products(ProductQuery(storeId: id), limit: products) }
      print(
        "\(products) products, \(wishes) wishes: sync \(bare), with wishes \(judged) (\(news) came true), "
          + "one change \(quiet), adding all \(adding), list \(listing), page of 50 \(page), all products \(all)")
      #expect(news > wishes / 4 && news <= WishJudge.mostNews)
      #expect(try await service.wishes().count(where: \.isTrue) > wishes / 2)
    }
  }

  @Test("A wish for new products is not silent after many")
  func arrivals() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow(products(3, price: "100"))
      let wish = try await workshop.service.addWish(.search(storeId: id, text: "jacket"), .newMatch)
      try await workshop.container.database.write { transaction in
        try transaction.execute(
          """
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(WishRows.mostMatches))
          INSERT INTO wish_matches SELECT m.store, m.market, -n.i, m.wish, n.i FROM wish_markets AS m CROSS JOIN n
          """, [])
      }
      let news = try await workshop.wished(id, products(5, price: "100"))
      #expect(news.map(\.productShopifyId) == [4, 5])
      let state = try #require(try await workshop.service.wish(id: wish.id))
      #expect(state.matchCount == WishRows.mostMatches && state.obstacle == nil)
    }
  }

  @Test("There is a limit on wishes, and on the products recorded for one")
  func limits() async throws {
    try await Workshop.use { workshop in
      let count = WishRows.mostMatches + 5
      let id = try await workshop.follow(products(count, price: "100"))
      let wish = try await workshop.service.addWish(.search(storeId: id, text: "jacket"), .priceAtMost(70))
      #expect(try await workshop.wished(id, products(count, price: "60")).count == WishJudge.mostNewsPerWish)
      var state = try #require(try await workshop.service.wish(id: wish.id))
      #expect(state.matchCount == WishRows.mostMatches && state.obstacle == .tooManyMatches(WishRows.mostMatches))

      // Which of the others come true is unknown, so there is no news until there is room for all.
      let cheap = products(count, price: "60")
      let dear = products(count, price: "100")
      #expect(try await workshop.wished(id, Array(dear.prefix(10) + cheap.dropFirst(10))).isEmpty)
      #expect(try await workshop.wished(id, cheap).isEmpty)
      let half = count / 2
      #expect(try await workshop.wished(id, Array(dear.prefix(half) + cheap.dropFirst(half))).isEmpty)
      #expect(try await workshop.wished(id, Array(dear.prefix(half) + cheap.dropFirst(half))).isEmpty)
      #expect(try await workshop.wished(id, [product(99_999)] + dear.prefix(half) + cheap.dropFirst(half)).isEmpty)
      state = try #require(try await workshop.service.wish(id: wish.id))
      #expect(state.matchCount == count - half && state.obstacle == nil)
      let news = try await workshop.wished(id, Array(cheap.prefix(3) + dear[3..<half] + cheap.dropFirst(half)))
      #expect(news.map(\.productShopifyId) == [1, 2, 3])
      try await workshop.container.database.write { transaction in
        for number in 0..<(WishRows.most - 1) {
          try transaction.execute(
            "INSERT INTO wishes (id, search, condition, amount, created_at) VALUES (?1, 'x', 2, 5, 0)",
            [.text("\(number)")])
        }
      }
      await #expect(throws: WishError.tooMany) {
        _ = try await workshop.service.addWish(.search(storeId: id, text: "mat"), .backInStock)
      }
    }
  }
}
