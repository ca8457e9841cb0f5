import Foundation
import Testing

@testable import WatchifyKit

/// Products that their shop made anew.
@Suite(.timeLimit(.minutes(15))) struct RenewalTests {
  /// The mat with other ids.
  private func renewed(_ price: String, _ product: Int64 = 7, title: String = "Cork Mat") -> ShopifyProduct {
    var mat = mat(price)
    (mat.id, mat.title) = (product, title)
    for index in mat.variants.indices { mat.variants[index].id = product * 1_000 - Int64(index) }
    return mat
  }

  @Test("A product with new ids under the same handle and title is still sold; its history and wishes go on")
  func history() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("97"), product(2)])
      let wish = try await workshop.service.addWish(largeMat(id), .priceAtMost(70))
      workshop.clock.turn(8 * 86_400)
      let first = try await workshop.sync(id, [mat("90"), product(2)])
      #expect(try await workshop.sync(id, [renewed("90"), product(2)]).isEmpty)
      #expect(try await workshop.sync(id, [renewed("90"), product(2)]).isEmpty)
      #expect(try await workshop.service.product(storeId: id, shopifyId: 1) == nil)
      let news = try await workshop.sync(id, [renewed("60"), product(2)])
      #expect(news.map(\.changeType) == [.wishFulfilled, .priceDropped, .priceDropped])
      #expect(news[0].wishId == wish.id && news[1].oldValue == "$90.00" && news[2].variantTitle == "Large")
      let detail = try #require(try await workshop.service.product(storeId: id, shopifyId: 7))
      #expect(detail.variants.map(\.id) == [7_000, 6_999] && detail.variants.map(\.title) == ["Size 0", "Large"])
      #expect(detail.variants.allSatisfy { $0.history.map(\.price) == [97, 90, 60] && !$0.isMissing })
      let events = try await workshop.service.events(EventFilter())
      #expect(events.filter { first.map(\.id).contains($0.id) }.map(\.productShopifyId) == [7, 7])
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.map(\.body).contains("Cork Mat: $60.00, was $97.00"))
      #expect(try await workshop.service.products(ProductQuery(storeId: id)).count == 2)
    }
  }

  @Test("It is found after a read without it, in another market, and when it was removed; another title is another one")
  func absence() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("97"), product(2)])
      #expect(try await workshop.sync(id, [product(2)]).isEmpty)
      #expect(try await workshop.sync(id, [renewed("97"), product(2)]).isEmpty)
      let away = try await workshop.sync(id, [renewed("130", 8), product(2)], currency: "SGD")
      #expect(away.map(\.changeType) == [.currencyChanged])
      let home = try await workshop.sync(id, [renewed("97", 9), product(2)])
      #expect(home.map(\.changeType) == [.currencyChanged])
      for _ in 0..<2 { try await workshop.sync(id, [product(2)]) }
      let back = try await workshop.sync(id, [renewed("97", 10), product(2)])
      #expect(back.map(\.changeType) == [.productReturned])
      let detail = try #require(try await workshop.service.product(storeId: id, shopifyId: 10))
      #expect(detail.variants.first?.history.map(\.currency) == ["USD", "SGD", "USD"])
      let other = try await workshop.sync(id, [renewed("97", 11, title: "Felt Mat"), product(2)])
      #expect(other.map(\.changeType) == [.newProduct])
    }
  }

  @Test("What is known about a product with new ids is not reported again, and what is not is reported")
  func memory() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("97"), product(2)])
      let away = [mat("140"), product(2, prices: ["150"]), product(3)]
      #expect(try await workshop.sync(id, away, currency: "SGD").map(\.changeType) == [.currencyChanged])
      let cut = try await workshop.sync(id, [mat("70")] + away.dropFirst(), currency: "SGD")
      #expect(cut.map(\.changeType) == [.priceDropped, .priceDropped])
      var third = product(13, title: "Product 3")
      third.handle = "product-3"
      let home = try await workshop.sync(id, [renewed("48.50"), product(2), third])
      #expect(home.map(\.changeType) == [.currencyChanged, .newProduct] && home.last?.productShopifyId == 13)

      var large = renewed("48.50", 8)
      large.variants.removeFirst()
      workshop.shop.serve([large, product(2), third], unreadable: [UnreadableEntry(product: 8, variant: -1)])
      #expect(try await workshop.sync(id).isEmpty)
      var whole = renewed("48.50", 9)
      whole.variants[0].title = "Small"
      #expect(try await workshop.sync(id, [whole, product(2), third]).isEmpty, "listed before, without its id")
    }
  }
}
