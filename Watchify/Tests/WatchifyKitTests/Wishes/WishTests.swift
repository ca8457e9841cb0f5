import CofferRouter
import CofferSQLite
import Foundation
import Testing

@testable import WatchifyKit

/// A cork mat in two sizes.
func mat(_ price: String, large: String? = nil, isAvailable: Bool = true) -> ShopifyProduct {
  var mat = product(1, prices: [price, large ?? price], title: "Cork Mat")
  mat.variants[1].title = "Large"
  for index in mat.variants.indices { mat.variants[index].available = isAvailable }
  return mat
}

func largeMat(_ store: UUID) -> WishScope { .variant(storeId: store, productId: 1, variantId: 101) }

extension Workshop {
  /// Delivers what is due; returns the new notifications about wishes.
  func toldWishes() async throws -> [NotificationContent] {
    let before = channel.delivered.count
    try await notifications.sendPending()
    let ids = Set(try await service.wishes().map(\.id.uuidString))
    return channel.delivered.dropFirst(before).filter { ids.contains($0.threadIdentifier) }
  }

  /// Syncs; returns the events of wishes.
  func wished(_ id: UUID, _ products: [ShopifyProduct], currency: String? = "USD") async throws -> [ChangeEventDTO] {
    try await sync(id, products, currency: currency).filter { $0.changeType == .wishFulfilled }
  }
}

/// Wishes: when they come true, and how often that is notified.
@Suite(.timeLimit(.minutes(15))) struct WishTests {
  @Test("A target price is notified once, until it has been false again")
  func price() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("97.90")])
      let wish = try await workshop.service.addWish(largeMat(id), .priceAtMost(70))
      #expect(!wish.isTrue && wish.productTitle == "Cork Mat" && wish.variantTitle == "Large")
      #expect(wish.currency == "USD" && wish.currentPrice == Decimal(string: "97.90") && wish.targetPrice == 70)
      workshop.clock.turn(100 * 86_400)
      let news = try await workshop.sync(id, [mat("67.90")])
      #expect(news.map(\.changeType) == [.wishFulfilled, .priceDropped, .priceDropped])
      #expect(news.first?.wishId == wish.id && news.first?.newPrice == Decimal(string: "67.90"))
      try await workshop.notifications.sendPending()
      let notifications = workshop.channel.delivered
      try #require(notifications.count == 2, "the wish and the store have a notification each")
      #expect(notifications[0].body.hasPrefix("Cork Mat, Large: $67.90, below your $70.00 · lowest since "))
      #expect(notifications[0].priority == .timeSensitive)
      #expect(notifications[0].threadIdentifier == wish.id.uuidString)
      #expect(notifications[1].body == "Cork Mat: $67.90, was $97.90", "the store's news is as without the wish")
      let after = try #require(try await workshop.service.wish(id: wish.id))
      #expect(after.isTrue && after.lastTrueAt != nil && after.matchCount == 1)
      #expect(try await workshop.service.events(ofWish: wish.id).map(\.id) == [news[0].id])
      #expect(try await workshop.service.events(EventFilter(changeTypes: [.wishFulfilled])).first?.wishId == wish.id)
      // Lower still: the wish is true already.
      #expect(try await workshop.wished(id, [mat("60")]).isEmpty)
      workshop.clock.turn(7 * 3_600)
      #expect(try await workshop.wished(id, [mat("99")]).isEmpty)
      #expect(try await workshop.service.wish(id: wish.id)?.isTrue == false)
      #expect(try await workshop.wished(id, [mat("70")]).count == 1)
      #expect(
        try await workshop.toldWishes().map(\.body).first?.hasPrefix("Cork Mat, Large: $70.00, as you wished") == true)
    }
  }

  @Test("A price of zero fulfils no wish, ends none, is reported as unsure, and is not the lowest")
  func zero() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("97")])
      _ = try await workshop.service.addWish(largeMat(id), .priceAtMost(70))
      _ = try await workshop.service.addWish(.search(storeId: id, text: "mat"), .percentOff(20))
      workshop.clock.turn(8 * 86_400)
      let free = try await workshop.sync(id, [mat("0.00")])
      #expect(free.map(\.changeType) == [.priceDropped, .priceDropped] && free.allSatisfy(\.isUnsure))
      try await workshop.notifications.sendPending()
      #expect(
        workshop.channel.delivered.map(\.body) == ["Cork Mat: $0.00, was $97.00, perhaps a mistake of the shop"])
      let again = try await workshop.sync(id, [mat("97")])
      #expect(again.map(\.changeType) == [.priceIncreased, .priceIncreased] && again.allSatisfy(\.isUnsure))
      #expect(try await workshop.wished(id, [mat("60")]).count == 2)
      let detail = try await workshop.service.product(storeId: id, shopifyId: 1)
      #expect(detail?.variants.map(\.notableLowest?.price) == [60, 60])
      #expect(try await workshop.wished(id, [mat("0.00")]).isEmpty)
      #expect(try await workshop.wished(id, [mat("60")]).isEmpty, "it was true before")
    }
  }

  @Test("A wish that comes true during a stay in another market is not notified again on the return")
  func markets() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("97", isAvailable: false)])
      _ = try await workshop.service.addWish(largeMat(id), .backInStock)
      #expect(try await workshop.wished(id, [mat("125", isAvailable: false)], currency: "SGD").isEmpty)
      #expect(try await workshop.wished(id, [mat("125")], currency: "SGD").count == 1)
      #expect(try await workshop.sync(id, [mat("97")]).map(\.changeType) == [.currencyChanged])
      #expect(try await workshop.wished(id, [mat("97", isAvailable: false)]).isEmpty)
      #expect(try await workshop.wished(id, [mat("97")]).count == 1, "it has been false")
    }
  }

  @Test("A wish that is true when it is made says so and is not notified until it has been false")
  func alreadyTrue() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("60")])
      let wish = try await workshop.service.addWish(.product(storeId: id, productId: 1), .priceAtMost(70))
      #expect(wish.isTrue && wish.lastTrueAt == workshop.clock.now)
      #expect(try await workshop.wished(id, [mat("59")]).isEmpty)
      #expect(try await workshop.wished(id, [mat("80")]).isEmpty)
      #expect(try await workshop.wished(id, [mat("60", large: "80")]).map(\.variantTitle) == ["Size 0"])
      #expect(try await workshop.toldWishes().count == 1)
    }
  }

  @Test("A sold-out variant fulfils no wish for a price")
  func soldOut() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("97")])
      _ = try await workshop.service.addWish(largeMat(id), .priceAtMost(70))
      #expect(try await workshop.wished(id, [mat("60", isAvailable: false)]).isEmpty)
      #expect(try await workshop.wished(id, [mat("60")]).count == 1)
    }
  }

  @Test("A percentage refers to the price at the time of the wish, not to a crossed-out price")
  func percentage() async throws {
    try await Workshop.use { workshop in
      var crossed = mat("100")
      for index in crossed.variants.indices { crossed.variants[index].compareAtPrice = Price("400") }
      let id = try await workshop.follow([crossed])
      let wish = try await workshop.service.addWish(largeMat(id), .percentOff(20))
      #expect(!wish.isTrue && wish.targetPrice == 80)
      workshop.clock.turn(1)
      #expect(try await workshop.wished(id, [mat("80.01")]).isEmpty)
      let news = try await workshop.wished(id, [mat("75")])
      #expect(news.first?.newValue?.hasPrefix("$75.00, 25 % off $100.00 (you wished 20 %)") == true, "\(news)")
      // Old price points are needed for the base.
      workshop.clock.turn(400 * 86_400)
      try await workshop.service.deleteOldSnapshots(olderThan: workshop.clock.now)
      #expect(try await workshop.service.wish(id: wish.id)?.targetPrice == 80)
      #expect(try await workshop.wished(id, [mat("90")]).isEmpty)
      #expect(try await workshop.wished(id, [mat("79")]).count == 1)
    }
  }

  @Test("A wish that is edited into a percentage refers to the price then, whose history may be gone")
  func editedIntoPercentage() async throws {
    try await Workshop.use { workshop in
      let service = workshop.service
      let id = try await workshop.follow([mat("100")])
      let wish = try await service.addWish(largeMat(id), .priceAtMost(50))
      workshop.clock.turn(1)
      #expect(try await workshop.wished(id, [mat("120")]).isEmpty)
      workshop.clock.turn(400 * 86_400)
      try await service.deleteOldSnapshots(olderThan: workshop.clock.now)
      let edited = try await service.editWish(id: wish.id, condition: .percentOff(20), expiresAt: nil)
      #expect(edited.targetPrice == 96 && !edited.isTrue)
      workshop.clock.turn(1)
      #expect(try await workshop.wished(id, [mat("110")]).isEmpty)
      let narrower = try await service.editWish(id: wish.id, condition: .percentOff(10), expiresAt: nil)
      #expect(narrower.targetPrice == 108, "another percentage of the same price")
    }
  }

  @Test("The last price in each currency outlives old price points: a percentage may refer to it")
  func baseInAnotherCurrency() async throws {
    try await Workshop.use { workshop in
      let service = workshop.service
      let id = try await workshop.follow([mat("100")])
      workshop.clock.turn(86_400)
      try await workshop.sync(id, [mat("90")], currency: "EUR")
      workshop.clock.turn(400 * 86_400)
      try await service.deleteOldSnapshots(olderThan: workshop.clock.now)
      let wish = try await service.addWish(largeMat(id), .percentOff(20))
      workshop.clock.turn(1)
      try await workshop.sync(id, [mat("100")])
      #expect(try await service.wish(id: wish.id)?.targetPrice == 80)
    }
  }

  @Test("Of a product first listed after the wish, the crossed-out price counts for a percentage")
  func laterProducts() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("100")])
      _ = try await workshop.service.addWish(.search(storeId: nil, text: "jacket"), .percentOff(20))
      workshop.clock.turn(1)
      var (cheap, plain) = (product(2, prices: ["50"], title: "Rain Jacket"), product(3, title: "Jacket"))
      cheap.variants[0].compareAtPrice = Price("100")
      plain.variants[0].compareAtPrice = Price("110")
      let news = try await workshop.wished(id, [mat("100"), cheap, plain])
      #expect(news.map(\.productShopifyId) == [2])
      let first = try #require(news.first)
      #expect(first.newValue?.hasPrefix("$50.00, 50 % off $100.00 (you wished 20 %), matches “jacket”") == true)
    }
  }

  @Test("Flapping stock is notified at most once in six hours, and not at all if it is gone by then")
  func flapping() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("97", isAvailable: false)])
      _ = try await workshop.service.addWish(.product(storeId: id, productId: 1), .backInStock)
      var told: [String] = []
      for _ in 0..<12 {
        for isAvailable in [true, false] {
          try await workshop.sync(id, [mat("97", isAvailable: isAvailable)])
          told += try await workshop.toldWishes().map(\.body)
          workshop.clock.turn(1_800)
        }
      }
      #expect(told.count == 2, "twelve hours: \(told)")
      #expect(told.first == "Cork Mat: back in stock at $97.00")
      workshop.clock.turn(7 * 3_600)
      #expect(try await workshop.toldWishes().isEmpty, "what is no longer true is withdrawn")
    }
  }

  @Test("A search is judged for each product; a product that is new matches once")
  func searches() async throws {
    try await Workshop.use { workshop in
      let coat = product(2, title: "Pebble Rain Jacket")
      let id = try await workshop.follow([mat("97"), coat])
      let cheap = try await workshop.service.addWish(.search(storeId: nil, text: "  RAIN  jácket "), .priceAtMost(70))
      let new = try await workshop.service.addWish(.search(storeId: id, text: "jacket"), .newMatch)
      #expect(cheap.scope == .search(storeId: nil, text: "RAIN jácket"))
      #expect(try await workshop.service.wish(matches: cheap.id).map(\.listed.product.title) == ["Pebble Rain Jacket"])
      let second = product(3, prices: ["60"], title: "Quiet Rain Jacket")
      var news = try await workshop.wished(id, [mat("97"), coat, second])
      #expect(Set(news.compactMap(\.wishId)) == [cheap.id, new.id] && news.allSatisfy { $0.productShopifyId == 3 })
      #expect(try await workshop.toldWishes().count == 2, "each wish has its own notification")
      // Another product of the same search comes true; the first is silent.
      news = try await workshop.wished(id, [mat("97"), product(2, prices: ["50"], title: coat.title), second])
      #expect(news.map(\.productShopifyId) == [2] && news.first?.wishId == cheap.id)
      let matches = try await workshop.service.wish(matches: cheap.id)
      #expect(matches.count == 2 && matches.allSatisfy(\.isFulfilled))
      // Renamed: it no longer matches, and matches again.
      #expect(try await workshop.wished(id, [mat("97"), product(2, prices: ["50"], title: "Vest"), second]).isEmpty)
      #expect(try await workshop.service.wish(id: cheap.id)?.matchCount == 1)
      news = try await workshop.wished(id, [mat("97"), product(2, prices: ["50"], title: coat.title), second])
      #expect(news.map(\.wishId) == [cheap.id], "it is not new")
      let listed = try await workshop.service.wishes(storeId: id)
      #expect(listed.map(\.id) == [new.id, cheap.id] && listed.allSatisfy(\.isTrue))
      #expect(try await workshop.service.wishes(storeId: id, productId: 2).isEmpty)
    }
  }

  @Test("Several products of a search that come true together are one notification")
  func together() async throws {
    try await Workshop.use { workshop in
      let coats = (1...60).map { product($0, title: "Rain Jacket \($0)") }
      let id = try await workshop.follow(coats)
      let wish = try await workshop.service.addWish(.search(storeId: id, text: "jacket"), .priceAtMost(50))
      let news = try await workshop.wished(id, (1...60).map { product($0, prices: ["40"], title: "Rain Jacket \($0)") })
      #expect(news.count == WishJudge.mostNewsPerWish)
      let told = try await workshop.toldWishes()
      #expect(told.count == 1 && told.first?.body.hasSuffix(" · and 49 more") == true, "\(told)")
      #expect(try await workshop.service.wish(id: wish.id)?.matchCount == 60)
    }
  }

  @Test("A wish is notified whatever the thresholds, with its own switch, in the quiet hours' turn")
  func settings() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("100")])
      let settings = workshop.container.settings
      try await settings.set(.twentyFivePercent, for: StorageKeys.priceDropThreshold)
      _ = try await workshop.service.addWish(largeMat(id), .priceAtMost(99))
      try await workshop.sync(id, [mat("98")])
      #expect(try await workshop.toldWishes().count == 1 && workshop.channel.delivered.count == 1)
      try await workshop.sync(id, [mat("100")])
      try await settings.set(false, for: StorageKeys.notifyWishFulfilled)
      #expect(try await workshop.wished(id, [mat("98")]).count == 1)
      workshop.clock.turn(7 * 3_600)
      #expect(try await workshop.toldWishes().isEmpty)
    }
  }

  @Test("Undelivered news of a wish that is false again is withdrawn, and told when it comes true again")
  func withdrawn() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("100")])
      _ = try await workshop.service.addWish(largeMat(id), .priceAtMost(70))
      try await workshop.sync(id, [mat("60")])
      try await workshop.sync(id, [mat("100")])
      #expect(try await workshop.toldWishes().isEmpty)
      try await workshop.sync(id, [mat("65")])
      #expect(try await workshop.toldWishes().count == 1, "nothing was notified before, so nothing delays it")
    }
  }
}
