import Coffer
import CofferSQLite
import Foundation
import Testing

@testable import WatchifyKit

/// Wishes under failing reads, changing markets, clocks and input.
@Suite(.timeLimit(.minutes(15))) struct WishFaultTests {
  @Test("While a shop serves another currency, a price cannot be judged; the return resets nothing")
  func currencies() async throws {
    try await Workshop.use { workshop in
      let (id, service) = (try await workshop.follow([mat("97")]), workshop.service)
      let price = try await service.addWish(largeMat(id), .priceAtMost(70))
      let stock = try await service.addWish(.product(storeId: id, productId: 1), .backInStock)
      #expect(stock.isTrue)
      #expect(try await workshop.wished(id, [mat("60")]).count == 1)
      // 30 pounds are less than 70, but not 70 dollars.
      #expect(try await workshop.wished(id, [mat("30", isAvailable: false)], currency: "GBP").isEmpty)
      let away = try #require(try await service.wish(id: price.id))
      #expect(!away.isTrue && away.obstacle == .otherCurrency("GBP") && away.currency == "USD")
      #expect(try await workshop.wished(id, [mat("29")], currency: "GBP").map(\.wishId) == [stock.id])
      #expect(try await workshop.wished(id, [mat("60")]).isEmpty, "it was true there, and still is")
      #expect(try await service.wish(id: price.id)?.isTrue == true)
      #expect(try await workshop.wished(id, [mat("99")], currency: "GBP").isEmpty)
      #expect(try await workshop.wished(id, [mat("99")]).isEmpty)
      #expect(try await service.wish(id: price.id)?.isTrue == false)
      #expect(try await workshop.wished(id, [mat("10")], currency: "GBP").isEmpty)
      let news = try await workshop.wished(id, [mat("69")])
      #expect(news.map(\.wishId) == [price.id], "on the return, what changed there since is told")
    }
  }

  @Test("The first read of another country's market is a baseline for wishes")
  func countries() async throws {
    try await Workshop.use { workshop in
      let (id, service) = (try await workshop.follow([mat("97", isAvailable: false)]), workshop.service)
      let wish = try await service.addWish(.product(storeId: id, productId: 1), .backInStock)
      try await service.updateStore(id: id, country: "CA")
      #expect(try await workshop.wished(id, [mat("97")]).isEmpty)
      #expect(try await service.wish(id: wish.id)?.isTrue == true)
      try await workshop.sync(id, [mat("97", isAvailable: false)])
      #expect(try await workshop.wished(id, [mat("97")]).count == 1)
    }
  }

  @Test("A price wished before a shop states its currency is in the one stated first")
  func unstated() async throws {
    try await Workshop.use { workshop in
      workshop.shop.describe(ShopDescription(country: "US"))
      let id = try await workshop.follow([mat("97")], currency: nil)
      let wish = try await workshop.service.addWish(largeMat(id), .priceAtMost(70))
      #expect(wish.currency == nil)
      #expect(try await workshop.wished(id, [mat("60")]).count == 1, "the currency is stated with the drop")
      #expect(try await workshop.service.wish(id: wish.id)?.currency == "USD")
      #expect(try await workshop.wished(id, [mat("30")], currency: "GBP").isEmpty)
      #expect(try await workshop.service.wish(id: wish.id)?.obstacle == .otherCurrency("GBP"))
    }
  }

  @Test("Several currencies need one for a price in all stores; others are not judged")
  func severalCurrencies() async throws {
    try await Workshop.use { workshop in
      let (first, service) = (try await workshop.follow([mat("97")]), workshop.service)
      workshop.shop.describe(ShopDescription(country: "GB", currency: "GBP"))
      let second = try await workshop.follow([mat("97")], domain: "british.example", currency: "GBP")
      let scope = WishScope.search(storeId: nil, text: "cork")
      await #expect(throws: WishError.needsCurrency(["GBP", "USD"])) {
        _ = try await service.addWish(scope, .priceAtMost(70))
      }
      await #expect(throws: WishError.invalidPrice) {
        _ = try await service.addWish(scope, .priceAtMost(70), currency: "pounds")
      }
      _ = try await service.addWish(scope, .priceAtMost(70), currency: "gbp")
      #expect(try await workshop.wished(first, [mat("60")]).isEmpty)
      #expect(try await workshop.wished(second, [mat("60")], currency: "GBP").count == 1)
    }
  }

  @Test("A failed or incomplete read judges nothing; a product is gone only when it counts as removed")
  func partialReads() async throws {
    try await Workshop.use { workshop in
      let (id, service) = (try await workshop.follow([mat("60"), product(2)]), workshop.service)
      let wish = try await service.addWish(largeMat(id), .priceAtMost(70))
      await #expect(throws: SyncFailure.self) { try await workshop.sync(id, [product(2)], isComplete: false) }
      workshop.shop.fail(SyncFailure.passwordProtected)
      await #expect(throws: SyncFailure.self) { try await workshop.sync(id) }
      #expect(try await service.wish(id: wish.id)?.isTrue == true)
      workshop.clock.turn(120)
      #expect(try await workshop.wished(id, [product(2)]).isEmpty)
      #expect(try await service.wish(id: wish.id)?.isTrue == true, "one read without it")
      #expect(try await workshop.wished(id, [mat("60"), product(2)]).isEmpty, "it was never false")
      for _ in 0..<2 { try await workshop.sync(id, [product(2)]) }
      let gone = try #require(try await service.wish(id: wish.id))
      #expect(!gone.isTrue && gone.obstacle == .notListed && gone.productTitle == "Cork Mat")
      #expect(try await workshop.wished(id, [mat("60"), product(2)]).count == 1)
      // The same for one variant.
      let small = product(1, prices: ["60"], title: "Cork Mat")
      try await workshop.sync(id, [small, product(2)])
      #expect(try await service.wish(id: wish.id)?.isTrue == true)
      try await workshop.sync(id, [small, product(2)])
      #expect(try await service.wish(id: wish.id)?.isTrue == false)
    }
  }

  @Test("A removed store takes its wishes along, and a store that is added later is a baseline for searches")
  func stores() async throws {
    try await Workshop.use { workshop in
      let (first, service) = (try await workshop.follow([mat("97")]), workshop.service)
      let own = try await service.addWish(largeMat(first), .priceAtMost(70))
      let all = try await service.addWish(.search(storeId: nil, text: "mat"), .priceAtMost(70))
      try await workshop.sync(first, [mat("60")])
      let second = try await workshop.follow([mat("50")], domain: "other.example")
      #expect(try await workshop.wished(second, [mat("51")]).isEmpty, "it was true when the store was added")
      #expect(try await service.wish(id: all.id)?.matchCount == 2)
      try await service.deleteStore(id: first)
      #expect(try await service.wishes().map(\.id) == [all.id])
      #expect(try await service.wish(id: own.id) == nil)
      #expect(try await workshop.toldWishes().isEmpty)
      #expect(try await service.wish(id: all.id)?.matchCount == 1)
    }
  }

  @Test("A wish expires by its date without a sync; a clock that was wrong loses nothing")
  func expiry() async throws {
    try await Workshop.use { workshop in
      let (id, service) = (try await workshop.follow([mat("97")]), workshop.service)
      let end = workshop.clock.now.addingTimeInterval(86_400)
      await #expect(throws: WishError.expired) {
        _ = try await service.addWish(largeMat(id), .priceAtMost(70), expiresAt: workshop.clock.now)
      }
      let wish = try await service.addWish(largeMat(id), .priceAtMost(70), expiresAt: end)
      try await workshop.sync(id, [mat("60")])
      #expect(try await workshop.toldWishes().count == 1)
      workshop.clock.turn(2 * 86_400)
      let ended = try #require(try await service.wish(id: wish.id))
      #expect(!ended.isTrue && ended.isExpired(at: workshop.clock.now) && !ended.isExpired(at: end - 1))
      try await workshop.sync(id, [mat("99")])
      try await workshop.sync(id, [mat("61")])
      // The clock was wrong: the wish is not over. The reads meanwhile were not judged, and the mat is cheap still.
      workshop.clock.turn(-2 * 86_400 - 300)
      #expect(try await service.wish(id: wish.id)?.isTrue == true)
      workshop.clock.turn(7 * 3_600)
      #expect(try await workshop.wished(id, [mat("61"), product(2)]).isEmpty)
      workshop.clock.turn(2 * 86_400)
      try await workshop.sync(id, [mat("99")])
      workshop.clock.turn(-2 * 86_400)
      #expect(try await workshop.wished(id, [mat("99"), product(3)]).isEmpty)
      #expect(try await service.wish(id: wish.id)?.isTrue == false, "an unjudged read is made up for")
      // Extended after its end, it begins anew.
      workshop.clock.turn(3 * 86_400)
      try await workshop.sync(id, [mat("60")])
      let longer = try await service.editWish(id: wish.id, condition: .priceAtMost(70), expiresAt: nil)
      #expect(longer.isTrue && longer.expiresAt == nil)
      #expect(try await workshop.wished(id, [mat("59")]).isEmpty)
    }
  }

  @Test("The same wish is made once, an expired one is replaced, and impossible ones are refused")
  func refusals() async throws {
    try await Workshop.use { workshop in
      let (id, service) = (try await workshop.follow([mat("97")]), workshop.service)
      let end = workshop.clock.now.addingTimeInterval(3_600)
      let wish = try await service.addWish(largeMat(id), .priceAtMost(70), expiresAt: end)
      await #expect(throws: WishError.exists(wish.id)) { _ = try await service.addWish(largeMat(id), .priceAtMost(70)) }
      let other = try await service.addWish(largeMat(id), .priceAtMost(71))
      await #expect(throws: WishError.exists(wish.id)) {
        _ = try await service.editWish(id: other.id, condition: .priceAtMost(70), expiresAt: nil)
      }
      workshop.clock.turn(3_600)
      #expect(try await service.addWish(largeMat(id), .priceAtMost(70)).id != wish.id)
      #expect(try await service.wishes().count == 2)
      let search = WishScope.search(storeId: id, text: "mat")
      for price in [Decimal(0), -1, Decimal(string: "1.00001") ?? 0, Decimal.greatestFiniteMagnitude, .nan] {
        await #expect(throws: WishError.invalidPrice) { _ = try await service.addWish(search, .priceAtMost(price)) }
      }
      for percent in [0, 100, -5, Int.max] {
        await #expect(throws: WishError.invalidPercentage) {
          _ = try await service.addWish(search, .percentOff(percent))
        }
      }
      await #expect(throws: WishError.needsSearch) { _ = try await service.addWish(largeMat(id), .newMatch) }
      for scope: WishScope in [
        .product(storeId: UUID(), productId: 1), .product(storeId: id, productId: 9),
        .variant(storeId: id, productId: 1, variantId: 9), .search(storeId: UUID(), text: "mat"),
      ] {
        await #expect(throws: WishError.noSubject) { _ = try await service.addWish(scope, .backInStock) }
      }
      await #expect(throws: WishError.notFound) {
        _ = try await service.editWish(id: UUID(), condition: .backInStock, expiresAt: nil)
      }
      try await service.removeWish(id: UUID())
    }
  }

  @Test("A hostile search is a search for its visible characters")
  func hostileSearches() async throws {
    try await Workshop.use { workshop in
      let titles = ["Mat \"*\" OR (1)", "NEAR(mat) AND x'--", "Mätte 靴", "%_ \\ 👩‍👩‍👧‍👦"]
      let products = titles.enumerated().map { product(Int64($0.offset + 1), title: $0.element) }
      let (id, service) = (try await workshop.follow(products), workshop.service)
      for text in ["", "  \n", "\u{0}\u{202E}\u{200B}", String(repeating: "a", count: 201), "a b c d e f g h i j k"] {
        await #expect(throws: WishError.invalidSearch, "\(text.debugDescription)") {
          _ = try await service.addWish(.search(storeId: id, text: text), .priceAtMost(50))
        }
      }
      let searches = [
        ("\"*\"", 1), ("OR (1)", 1), ("NEAR(mat)", 1), ("x'--", 1), ("MATTE", 1), ("靴", 1), ("%_", 1), ("\\", 1),
        ("a\u{0}b*", 0), ("folded_title:mat", 0), ("\"\"\"\"", 0), ("'; DROP TABLE wishes; --", 0), ("mat", 3),
        ("👩‍👩‍👧‍👦", 1), ("m\u{200B}at", 3),
      ]
      for (text, count) in searches {
        let wish = try await service.addWish(.search(storeId: id, text: text), .priceAtMost(1_000))
        #expect(wish.matchCount == count, "\(text.debugDescription)")
        #expect(try await service.wish(matches: wish.id).count == count, "\(text.debugDescription)")
        try await service.removeWish(id: wish.id)
      }
      let all = try await service.addWish(.search(storeId: nil, text: "1"), .priceAtMost(50))
      #expect(
        try await workshop.wished(id, products.map { product($0.id, prices: ["40"], title: $0.title) }).count == 1)
      #expect(all.matchCount == 0)
    }
  }
}
