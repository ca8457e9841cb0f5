import Foundation
import Testing

@testable import WatchifyKit

/// The lowest prices of periods.
@Suite struct LowestPriceTests {
  private let now = Date(timeIntervalSince1970: 1_790_000_000)

  private func history(_ points: (daysAgo: Double, price: String)...) -> PriceHistory {
    PriceHistory(
      points: points.map {
        .init(at: now.addingTimeInterval(-86_400 * $0.daysAgo), price: Price($0.price) ?? .zero)
      })
  }

  @Test("A period includes the price at its start")
  func periods() {
    let prices = history((200, "50"), (100, "80"), (60, "70"), (10, "75"))
    let lowest = prices.lowest(at: now)
    #expect(lowest.map(\.days) == [30, 90, nil] && lowest.map(\.price) == [70, 70, 50])
    #expect(lowest[0].since == now.addingTimeInterval(-86_400 * 60), "valid since before the period")
    #expect(prices.notable(at: now) == nil)
  }

  @Test("The longest period in which the price is the lowest is named, with the date of the last lower one")
  func notable() {
    let days = history((200, "50"), (105, "80"), (1, "67.90"))
    #expect(days.notable(at: now)?.days == 90)
    #expect(days.lowestText(at: now) == "lowest since \(DayText.text(days.points[1].at, now: now)) (90 days)")
    #expect(history((200, "50"), (40, "80"), (1, "60")).notable(at: now)?.days == 30)
    #expect(history((200, "50"), (20, "80"), (1, "60")).lowestText(at: now) == nil)
    let ever = history((200, "80"), (1, "60"))
    #expect(ever.notable(at: now)?.days == nil && ever.notable(at: now) != nil)
    #expect(ever.lowestText(at: now) == "lowest since \(DayText.text(ever.points[0].at, now: now))")
    #expect(ever.notable(at: now)?.text(at: now) == ever.lowestText(at: now))
    #expect(history((200, "80")).notable(at: now) == nil, "a price that never changed")
    #expect(history((200, "80"), (100, "60"), (50, "60")).notable(at: now)?.days == nil)
    #expect(history().notable(at: now) == nil && history().lowest(at: now).isEmpty)
    #expect(history((-5, "80")).lowest(at: now).isEmpty, "the clock was set back")
  }

  @Test("Less than a week is no history, no period is longer than it, and a price of zero does not count")
  func span() {
    let young = history((6.9, "80"), (1, "60"))
    #expect(young.notable(at: now) == nil && young.lowestText(at: now) == nil && young.lowest(at: now).isEmpty)
    let week = history((7, "80"), (1, "60"))
    #expect(week.lowest(at: now).map(\.days) == [nil] && week.notable(at: now)?.start == week.points[0].at)
    #expect(history((40, "80"), (1, "60")).lowest(at: now).map(\.days) == [30, nil])
    #expect(history((40, "80"), (9, "0"), (8, "80"), (1, "60")).notable(at: now)?.price == 60)
    #expect(history((40, "80"), (1, "0")).lowest(at: now).isEmpty)
  }

  @Test("Products and variants have it, in the currency of the price")
  func stored() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([mat("97"), product(2)])
      workshop.clock.turn(8 * 86_400)
      try await workshop.sync(id, [mat("67"), product(2)])
      try await workshop.sync(id, [mat("10"), product(2)], currency: "GBP")
      try await workshop.sync(id, [mat("67"), product(2)])
      let products = try await workshop.service.products(ProductQuery(storeId: id))
      #expect(products.map(\.lowest?.price) == [67, nil] && products[0].lowest?.days == nil)
      let variant = try #require(try await workshop.service.product(storeId: id, shopifyId: 1)?.variants.first)
      #expect(variant.lowest.map(\.price) == [67] && variant.notableLowest?.price == 67)
    }
  }
}
