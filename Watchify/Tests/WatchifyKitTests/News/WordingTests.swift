import Foundation
import Testing

@testable import WatchifyKit

/// The texts of notifications, whose counts equal those of the unread news.
@Suite(.timeLimit(.minutes(15))) struct WordingTests {
  private func event(
    _ type: ChangeType, product: Int64 = 1, variant: Int64 = 10, title: String = "Cork Mat", size: String? = nil,
    from old: Decimal? = nil, to new: Decimal? = nil, isUnsure: Bool = false
  ) -> ChangeEventDTO {
    var event = ChangeEventDTO(
      id: UUID(), changeType: type, productTitle: title, variantTitle: size, productShopifyId: product,
      variantShopifyId: variant, occurredAt: Date(), currency: "USD", isUnsure: isUnsure)
    (event.oldPrice, event.newPrice) = (old, new)
    event.oldValue = old.map { Money.text($0, "USD") }
    event.newValue = new.map { Money.text($0, "USD") }
    return event
  }

  private func body(_ events: [ChangeEventDTO]) -> String? { NotificationContent(of: events)?.body }

  @Test("A single piece of news is named with its price; variants of a product count once")
  func one() throws {
    let price = Decimal(string: "67.90")
    #expect(body([event(.priceDropped, from: 97, to: price)]) == "Cork Mat: $67.90, was $97.00")
    let sizes = (1...54).map { event(.priceDropped, variant: $0, size: "Size \($0)", from: 97, to: price) }
    #expect(body(sizes) == "Cork Mat: $67.90, was $97.00")
    #expect(body([sizes[2]]) == "Cork Mat, Size 3: $67.90, was $97.00")
    #expect(body([event(.backInStock, size: "L")]) == "Cork Mat, L: back in stock")
    #expect(body([event(.imagesChanged)]) == "Cork Mat: pictures changed")
    #expect(
      body([event(.priceIncreased, from: 97, to: 99, isUnsure: true)])
        == "Cork Mat: $99.00, was $97.00, perhaps by the exchange rate")
  }

  // Requirement 2.46
  @Test("Of several the most important one is named, and products are counted")
  func several() throws {
    let small = event(.priceDropped, product: 2, variant: 20, title: "Strap", from: 10, to: 9)
    let sizes = (1...3).map { event(.priceDropped, variant: $0, size: "Size \($0)", from: 100, to: 80) }
    #expect(body([small] + sizes) == "Cork Mat: $80.00, was $100.00 · 2 price drops")
    let new = (3...40).map { event(.newProduct, product: $0, title: "New \($0)") }
    let back = event(.backInStock, product: 50, title: "Block", size: "L")
    #expect(
      body(new + [small] + sizes + [back])
        == "Block, L: back in stock · 2 price drops, 1 back in stock, 38 new products")
    let long = event(.newProduct, title: String(repeating: "Mat ", count: 500))
    #expect(try #require(body([long])).count < 100)
  }

  // Requirements 2.13, 2.14
  @Test("Counts and unread agree; a single event is marked, or a piece of news as a whole")
  func unread() async throws {
    try await Workshop.use { workshop in
      let prices = ["10", "12", "14"]
      let id = try await workshop.follow([product(1, prices: prices), product(2), product(3)])
      let news = try await workshop.sync(
        id, [product(1, prices: ["8", "9", "10"]), product(2, prices: ["70"]), product(3), product(4)])
      #expect(news.count == 5)
      try await workshop.notifications.deliver(news)
      #expect(
        workshop.channel.delivered.map(\.body) == ["Product 2: $70.00, was $100.00 · 2 price drops, 1 new product"])
      let service = workshop.service
      #expect(try await service.unreadCount() == 3)
      #expect(await service.fetchUnreadCount() == 5)
      #expect(try await service.unreadCount(EventFilter(changeTypes: [.priceDropped], startDate: .distantPast)) == 2)
      let sizes = news.filter { $0.productShopifyId == 1 }.map(\.id)
      for (marked, size) in sizes.dropLast().enumerated() {
        await service.markEventRead(id: size)
        #expect(await service.fetchUnreadCount() == 4 - marked, "an event is an event")
        #expect(try await service.unreadCount() == 3, "some of the news is unread")
        let unread = try await service.events(EventFilter(unreadOnly: true), limit: 10).map(\.id)
        #expect(unread.count == 4 - marked && !unread.contains(size) && unread.contains(sizes[2]))
      }
      let drops = EventFilter(changeTypes: [.priceDropped], startDate: .distantPast)
      #expect(try await service.unreadCount(drops) == 2)
      await service.markEventRead(id: sizes[2])
      #expect(try await service.unreadCount() == 2)
      #expect(try await service.unreadCount(drops) == 1)
      let events = try await service.events(EventFilter(unreadOnly: true), limit: 10)
      #expect(events.count == 2 && !events.contains { $0.productShopifyId == 1 })
      try await workshop.sync(id, [product(1, prices: prices), product(2), product(3), product(4)])
      #expect(try await service.unreadCount() == 4)
      let raises = try await service.events(EventFilter(changeTypes: [.priceIncreased], unreadOnly: true), limit: 10)
      try await service.markRead(ids: [try #require(raises.first { $0.productShopifyId == 1 }).id])
      #expect(try await service.unreadCount() == 3, "the news of all three sizes")
      await service.markAllUnreadEventsRead()
      #expect(await service.fetchUnreadCount() == 0)
      #expect(try await service.unreadCount() == 0)
    }
  }
}
