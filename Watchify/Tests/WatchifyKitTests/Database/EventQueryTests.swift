import Coffer
import CofferSQLite
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

/// Acceptance point 10: unread counts and filters are correct.
@Suite(.timeLimit(.minutes(15))) struct EventQueryTests {
  /// Two stores, each with one event of most types on each of three days.
  private func fill(_ workshop: Workshop) async throws -> [UUID] {
    var stores: [UUID] = []
    for domain in ["one.example", "two.example"] {
      stores.append(
        try await workshop.follow([product(1), product(2, prices: ["1", "2"]), product(3)], domain: domain))
    }
    for day in 0..<3 {
      for store in stores {
        var stocked = product(2, prices: ["1", day == 0 ? "3" : day == 1 ? "2.5" : "4"])
        stocked.variants[0].available = day == 1
        let first = product(1, prices: [day == 0 ? "90" : day == 1 ? "80" : "70"], images: ["\(day)?v=1"])
        try await workshop.sync(store, [first, stocked] + (day == 0 ? [product(3)] : []) + [product(10 + Int64(day))])
      }
      workshop.clock.turn(86_400)
    }
    return stores
  }

  @Test("The ids of a read change few pages of their index, and differ soon enough for a command line")
  func ids() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow((1...400).map { product($0) })
      let news = try await workshop.sync(id, (1...400).map { product($0, prices: ["50"]) })
      #expect(news.count == 400 && Set(news.map(\.id)).count == 400)
      #expect(Set(news.map(\.id.uuid.0)).count == 1)
      #expect(Set(news.map { $0.id.uuidString.prefix(8) }).count > 390)
    }
  }

  @Test("The events around an old event are found without reading later ones")
  func around() async throws {
    try await Workshop.use { workshop in
      _ = try await fill(workshop)
      let all = try await workshop.service.events(EventFilter(), limit: 1_000)
      for event in all {
        let near = try await workshop.service.events(around: event, within: 3_600)
        let expected = all.filter { other in
          other.storeId == event.storeId && other.productShopifyId == event.productShopifyId
            && other.changeType.category == event.changeType.category
            && abs(other.occurredAt.timeIntervalSince(event.occurredAt)) <= 3_600
        }
        #expect(near.map(\.id) == expected.map(\.id) && near.contains { $0.id == event.id })
      }
    }
  }

  // Requirements 2.9, 2.11
  @Test("Every combination of types, store, date and unread, compared with a full scan")
  func filters() async throws {
    try await Workshop.use { workshop in
      let stores = try await fill(workshop)
      let service = workshop.service
      let all = try await service.events(EventFilter(), limit: 1_000)
      #expect(all.count > 30 && Set(all.map(\.changeType)).count >= 7)
      try await service.markRead(ids: all.enumerated().filter { $0.offset % 3 == 0 }.map(\.element.id))
      let marked = try await service.events(EventFilter(), limit: 1_000)
      #expect(marked.count { $0.isRead } == (all.count + 2) / 3 && marked.map(\.id) == all.map(\.id))
      let types: [[ChangeType]?] =
        [nil, []] + ChangeType.allCases.map { [$0] }
        + [
          [.priceDropped, .backInStock], [.outOfStock, .outOfStock], [.newProduct, .productRemoved, .imagesChanged],
        ]
      let dates = [nil, all[all.count / 2].occurredAt, all[0].occurredAt.addingTimeInterval(1)]
      for store in [nil, stores[0], UUID()] {
        for (number, types) in types.enumerated() {
          for (index, date) in dates.enumerated() {
            // All combinations for some lists of types; each of the others is combined with each part once.
            for isUnread in [false, true] where number % 5 == 0 || (index + (isUnread ? 1 : 0)) % 3 == number % 3 {
              let filter = EventFilter(storeId: store, changeTypes: types, startDate: date, unreadOnly: isUnread)
              let expected = marked.filter { event in
                (store == nil || event.storeId == store) && (types?.contains(event.changeType) ?? true)
                  && (date.map { event.occurredAt >= $0 } ?? true) && !(isUnread && event.isRead)
              }
              #expect(try await service.events(filter, limit: 1_000).map(\.id) == expected.map(\.id), "\(filter)")
              #expect(try await service.unreadCount(filter) == expected.count { !$0.isRead }, "\(filter)")
              let page = try await service.events(filter, offset: 2, limit: 3)
              #expect(page.map(\.id) == expected.dropFirst(2).prefix(3).map(\.id), "\(filter)")
            }
          }
        }
      }
    }
  }

  // Requirements 2.10, 2.13
  @Test("The specified queries return nothing when the database fails, and say so")
  func failing() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      try await workshop.sync(id, [product(1, prices: ["80"])])
      let service = workshop.service
      #expect(await service.fetchUnreadCount() == 1)
      try await workshop.container.close()
      #expect(await service.fetchUnreadCount() == 0)
      #expect(await service.fetchMenuBarEvents(limit: 5).isEmpty)
      #expect(await service.fetchProducts(storeId: id).isEmpty)
      #expect(await service.fetchProductCount(storeId: id) == 0)
      await service.markAllUnreadEventsRead()
      #expect(await (service.lastFailure as? StorageError)?.code == .closed)
      await #expect(throws: StorageError.self) { try await service.unreadCount() }
    }
  }

  // Requirement 2.15
  @Test("Marking the events of a filter as read changes no others")
  func markRead() async throws {
    try await Workshop.use { workshop in
      let stores = try await fill(workshop)
      let service = workshop.service
      let all = try await service.events(EventFilter(), limit: 1_000)
      let filter = EventFilter(
        storeId: stores[1], changeTypes: [.priceDropped, .newProduct], startDate: all[all.count / 2].occurredAt)
      let shown = Set(try await service.events(filter, limit: 1_000).map(\.id))
      #expect(!shown.isEmpty)
      try await service.markRead(filter)
      let after = try await service.events(EventFilter(), limit: 1_000)
      #expect(after.allSatisfy { $0.isRead == shown.contains($0.id) })
      #expect(await service.fetchUnreadCount() == all.count - shown.count)
      await service.markAllUnreadEventsRead()
      #expect(await service.fetchUnreadCount() == 0)
      let counts = try await workshop.container.database.read { transaction in
        try transaction.query("SELECT count FROM unread WHERE count <> 0", []) { $0.integer(0) }
      }
      #expect(counts.isEmpty, "the counter equals a count")
    }
  }

  @Test("A page of events is found by an index, for every filter")
  func plans() async throws {
    try await Workshop.use { workshop in
      for condition in [
        "WHERE 1", "WHERE type = 1", "WHERE store = 1", "WHERE store = 1 AND type = 1",
        "WHERE store = 1 AND type = 1 AND row >= 5 AND is_read = 0",
      ] {
        let plan = try await workshop.container.database.read { transaction in
          try transaction.query(
            "EXPLAIN QUERY PLAN SELECT row FROM events \(condition) ORDER BY row DESC LIMIT 50", []
          ) { $0.text(3) }
        }
        #expect(!plan.contains { $0.contains("TEMP B-TREE") }, "\(condition): \(plan)")
        #expect(condition == "WHERE 1" || plan.contains { $0.contains("INDEX") }, "\(condition): \(plan)")
      }
    }
  }

  @Test("A variant with changing stock is one notification in six hours, and one group of rows")
  func flapping() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      for hour in 0..<8 {
        var flapping = product(1)
        flapping.variants[0].available = hour % 2 == 1
        try await workshop.sync(id, [flapping])
        try await workshop.notifications.sendPending()
        workshop.clock.turn(3_600 - 61)
      }
      let events = try await workshop.service.events(EventFilter(), limit: 100)
      #expect(events.count == 8)
      #expect(
        workshop.channel.delivered.map(\.body) == ["Product 1: out of stock", "Product 1: back in stock"],
        "at 0 and at 7 hours")
      let groups = ActivityGroup.groups(of: events, windowMinutes: 24 * 60)
      #expect(groups.count == 1 && groups[0].events.count == 8)
    }
  }
}
