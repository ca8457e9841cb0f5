import CofferRouter
import Foundation
import ReplayShop
import Testing

@testable import WatchifyKit

/// Changes of market, unknown currencies and unknown countries.
@Suite(.timeLimit(.minutes(15))) struct MarketTests {
  @Test("On return from another market, news is what changed since the last read of this one")
  func journey() async throws {
    try await Workshop.use { workshop in
      var sized = product(3, prices: ["5", "6"])
      let id = try await workshop.follow([product(1), product(2), sized])
      let away = [product(1, prices: ["140"]), product(3, prices: ["7", "8"])]
      #expect(try await workshop.sync(id, away, currency: "SGD").map(\.changeType) == [.currencyChanged])
      #expect(try await workshop.sync(id, away, currency: "SGD").isEmpty)
      sized.variants[1].available = false
      let now = [product(1, prices: ["80"]), product(2), sized, product(4)]
      let news = try await workshop.sync(id, now, currency: "USD")
      #expect(news.map(\.changeType) == [.currencyChanged, .priceDropped, .outOfStock, .newProduct])
      #expect(news[1].oldValue == "$100.00" && news[1].newValue == "$80.00")
      let detail = try #require(try await workshop.service.product(storeId: id, shopifyId: 1))
      #expect(detail.variants[0].history.map(\.currency) == ["USD", "SGD", "USD"])
      #expect(detail.variants[0].history.map(\.price) == [100, 140, 80])
      #expect(detail.product.cachedPrice == 80 && detail.product.currency == "USD")
      let second = try #require(try await workshop.service.product(storeId: id, shopifyId: 2))
      #expect(!second.isRemoved && second.product.cachedPrice == 100, "the other market did not have it")
      #expect(try await workshop.sync(id, now).isEmpty)
      // A product gone on the return is missing first, as usual.
      #expect(try await workshop.sync(id, away, currency: "SGD").map(\.changeType) == [.currencyChanged])
      let less = Array(now.dropFirst())
      #expect(try await workshop.sync(id, less, currency: "USD").map(\.changeType) == [.currencyChanged])
      #expect(try await workshop.sync(id, less).map(\.changeType) == [.productRemoved])
    }
  }

  @Test("Each market has separate prices, and news reported in one is not reported again")
  func markets() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      _ = try await workshop.sync(id, [product(1, prices: ["140"])], currency: "SGD")
      let found = try await workshop.sync(id, [product(1, prices: ["120"]), product(2)], currency: "SGD")
      #expect(found.map(\.changeType) == [.priceDropped, .newProduct] && found[0].oldValue == "SGD 140.00")
      let home = try await workshop.sync(id, [product(1, prices: ["90"]), product(2)], currency: "USD")
      #expect(home.map(\.changeType) == [.currencyChanged, .priceDropped] && home[1].oldValue == "$100.00")
      let away = try await workshop.sync(id, [product(1, prices: ["111.30"]), product(2)], currency: "SGD")
      #expect(away.map(\.oldValue) == ["USD", "SGD 120.00"])
      try await workshop.service.updateStore(id: id, country: "GB")
      #expect(try await workshop.sync(id, [product(1, prices: ["1"])]).map(\.changeType) == [.currencyChanged])
      try await workshop.service.updateStore(id: id, country: "US")
      let back = try await workshop.sync(id, [product(1, prices: ["90"]), product(2)], currency: "USD")
      #expect(back.map(\.changeType) == [.currencyChanged], "the same as before the change")
    }
  }

  @Test("A change is reported once, in the market in which it is found first; other prices only by their own moves")
  func once() async throws {
    try await Workshop.use { workshop in
      try await workshop.container.settings.set(1, for: StorageKeys.syncsUntilRemoved)
      let sized = product(1, prices: ["100", "50"])
      let id = try await workshop.follow([sized, product(2), product(3)])
      let away = [product(1, prices: ["140", "70"]), product(2, prices: ["140"]), product(3, prices: ["140"])]
      #expect(try await workshop.sync(id, away, currency: "SGD").map(\.changeType) == [.currencyChanged])
      // Sold out, cut by a fifth, other pictures, one product gone.
      var cut = product(1, prices: ["112", "56"])
      cut.variants[0].available = false
      let news = try await workshop.sync(
        id, [cut, product(2, prices: ["140"], images: ["https://c/b.jpg"])], currency: "SGD")
      #expect(
        news.map(\.changeType) == [.priceDropped, .outOfStock, .priceDropped, .imagesChanged, .productRemoved])
      var home = product(1, prices: ["80", "30"])
      home.variants[0].available = false
      let other = product(2, prices: ["100"], images: ["https://c/b.jpg"])
      let back = try await workshop.sync(id, [home, other])
      #expect(back.map(\.changeType) == [.currencyChanged, .priceDropped], "of the second size, by 40 %")
      #expect(back.last?.oldValue == "$50.00" && back.last?.newValue == "$30.00")
      #expect(try await workshop.sync(id, [home, other]).isEmpty)
      // Both return to what they were, as the home market shows first.
      let restored = try await workshop.sync(id, [sized, other, product(3)])
      #expect(
        restored.map(\.changeType) == [.priceIncreased, .backInStock, .priceIncreased, .productReturned])
      var again = away
      again[1] = product(2, prices: ["140"], images: ["https://c/b.jpg"])
      let second = try await workshop.sync(id, again, currency: "SGD")
      #expect(second.map(\.changeType) == [.currencyChanged], "\(second.map(\.changeType))")
    }
  }

  @Test("The rounding of small whole prices hides no change that was not reported in another market")
  func wholePrices() async throws {
    try await Workshop.use { workshop in
      func products(_ prices: [String]) -> [ShopifyProduct] {
        prices.enumerated().map { product(Int64($0.offset + 1), prices: [$0.element]) }
      }
      let id = try await workshop.follow(products(["10", "4", "9", "100"]))
      for (prices, expected) in [
        (["14", "5.60", "12.60", "140"], [ChangeType.currencyChanged]),
        (["12.60", "4.20", "11.34", "140"], [.priceDropped, .priceDropped, .priceDropped]),
        (["12.60", "5.60", "11.34", "140"], [.priceIncreased]),
      ] {
        #expect(try await workshop.sync(id, products(prices), currency: "SGD").map(\.changeType) == expected)
      }
      let home = try await workshop.sync(id, products(["8", "3", "8", "100"]))
      #expect(home.map(\.newValue) == ["USD", "$8.00", "$3.00"], "8 is 9 less the reported 10 %, rounded")
      #expect(home.map(\.productShopifyId) == [nil, 1, 2])
    }
  }

  @Test("While the base currency is unknown, prices count as converted, and it is requested again")
  func unknownCurrency() async throws {
    try await Workshop.use { workshop in
      workshop.shop.describe(ShopDescription(country: "US"))
      let prices = (1...21).map { 40.0 + Double($0) * 3.37 }
      func products(_ rate: Double) -> [ShopifyProduct] {
        prices.enumerated().map { product(Int64($0.offset + 1), prices: [String(format: "%.2f", $0.element * rate)]) }
      }
      let id = try await workshop.follow(products(1))
      #expect(workshop.shop.questions == 1)
      #expect(try await workshop.sync(id, products(0.996)).isEmpty, "21 prices moved as one")
      #expect(workshop.shop.questions == 2)
      var cut = products(0.996)
      cut[4] = product(5, prices: ["50"])
      let news = try await workshop.sync(id, cut)
      #expect(news.map(\.productShopifyId) == [5] && news.allSatisfy { !$0.isUnsure })
      #expect(workshop.shop.questions == 2, "the second delay is longer")
      workshop.clock.turn(600)
      workshop.shop.describe(ShopDescription(country: "US", currency: "USD"))
      let rest = try await workshop.sync(id, cut)
      #expect(rest.count == 20, "the moves are now known not to be the rate")
      let (small, asked) = (try await workshop.sync(id, [product(1, prices: ["41.50"])] + cut.dropFirst()), 3)
      #expect(small.count == 1 && workshop.shop.questions == asked, "once known, it is not requested again")
    }
  }

  @Test("For a store that states no country, that of its currency is requested, from the first read on")
  func pinned() async throws {
    try await Workshop.use { workshop in
      workshop.shop.describe(ShopDescription(currency: "GBP"))
      let id = try await workshop.follow([product(1)], currency: "GBP")
      #expect(try await workshop.service.stores().map(\.country) == ["GB"])
      workshop.shop.describe(ShopDescription())
      let other = try await workshop.follow([product(1)], domain: "other.example", currency: "SGD")
      #expect(try await workshop.sync(id, [product(1)], currency: "GBP").isEmpty)
      #expect(try await workshop.sync(other, [product(1)], currency: "SGD").isEmpty, "the same market as before")
      #expect(workshop.shop.countries == ["GB", nil, "GB", "SG"])
      #expect(HomeMarket.country(of: "EUR", locale: Locale(identifier: "de_AT")) == "AT")
      #expect(HomeMarket.country(of: "EUR", locale: Locale(identifier: "en_US")) == nil)
    }
  }
}
