import CofferRouter
import CofferSQLite
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite(.timeLimit(.minutes(15))) struct StoreServiceTests {
  // Requirement 2.1
  @Test("A database of a version before page validators is opened and migrated")
  func olderSchema() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("old.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await SQLiteDatabase(engine: engine).migrate(Array(Schema.migrations.prefix(2)))
    try await engine.close()
    let container = try await ModelContainer.open(at: URL(fileURLWithPath: path))
    let tables = try await container.database.read {
      try $0.query("SELECT name FROM sqlite_schema WHERE type = 'table'", []) { $0.text(0) }
    }
    #expect(tables.contains("validators") && tables.contains("stores"))
    try await container.close()
  }

  // Requirements 2.1, 2.4, 2.23
  @Test("A store is followed with all listed products, and none of them is news")
  func adding() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1), product(2, prices: ["5", "7.50"])])
      let store = try #require(try await workshop.service.stores().first)
      #expect(store.id == id && store.name == "Mat House" && store.domain == "mats.example")
      #expect(store.country == "US" && store.currency == "USD" && store.cachedProductCount == 2)
      #expect(store.lastFetchedAt == store.addedAt && store.lastError == nil && !store.isSyncing)
      #expect(store.cachedPreviewImageURLs.count == 2)
      #expect(await workshop.service.fetchUnreadCount() == 0)
      #expect(try await workshop.service.snapshotCount() == 3, "the history begins at the first read")
      let products = await workshop.service.fetchProducts(storeId: id)
      #expect(products.map(\.title) == ["Product 1", "Product 2"] && products[0].cachedPrice == 100)
      #expect(products[0].currency == "USD")
    }
  }

  // Requirement 2.4
  @Test("A store that cannot be read leaves no data, and one shop is followed once")
  func refusedAdding() async throws {
    try await Workshop.use { workshop in
      workshop.shop.fail(SyncFailure.notShopify)
      await #expect(throws: SyncError.invalidResponse) {
        _ = try await workshop.service.addStore(name: nil, domain: "a.example")
      }
      #expect(try await workshop.service.stores().isEmpty)
      workshop.shop.describe(ShopDescription(name: "One", shopifyDomain: "one.myshopify.com"))
      workshop.shop.serve([product(1)])
      let id = try await workshop.service.addStore(name: " My One ", domain: "https://www.One.example/products/x?y")
      for domain in ["one.example", "one.myshopify.com", "other.example"] {
        do {
          _ = try await workshop.service.addStore(name: nil, domain: domain)
          Issue.record("\(domain) was added")
        } catch { #expect(error as? WatchifyError == .alreadyFollowed(name: "My One", id: id)) }
      }
      #expect(try await workshop.service.stores().map(\.name) == ["My One"])
    }
  }

  @Test("A custom storefront without listings is read at the shop's Shopify domain")
  func headless() async throws {
    try await Workshop.use { workshop in
      workshop.shop.describe(ShopDescription(name: "Front", country: "US", shopifyDomain: "front.myshopify.com"))
      workshop.shop.list(onlyAt: "front.myshopify.com")
      let id = try await workshop.follow([product(1)], domain: "front.example")
      #expect(try await workshop.service.stores().map(\.domain) == ["front.myshopify.com"])
      #expect(try await workshop.sync(id, [product(1, prices: ["80"])]).count == 1)
      workshop.shop.list(onlyAt: "nowhere.example")
      workshop.shop.describe(ShopDescription())
      await expectSyncError(.notShopify) {
        _ = try await workshop.service.addStore(name: nil, domain: "b.example", country: nil)
      }
    }
  }

  // Requirements 2.5, 2.11, 2.12
  @Test("News is returned, kept and unread, with prices in the store's currency")
  func news() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1), product(2)], currency: "SGD")
      let news = try await workshop.sync(id, [product(1, prices: ["80"]), product(2), product(3)], currency: "SGD")
      #expect(news.map(\.changeType) == [.priceDropped, .newProduct])
      let drop = try #require(news.first)
      #expect(drop.oldValue == "SGD 100.00" && drop.newValue == "SGD 80.00" && drop.priceChange == -20)
      #expect(drop.magnitude == .medium && drop.storeName == "Mat House" && drop.storeId == id)
      let kept = await workshop.service.fetchActivityEvents(
        storeId: nil, changeTypes: nil, startDate: nil, offset: 0, limit: 10)
      #expect(kept.map(\.id) == news.reversed().map(\.id), "newest first")
      #expect(kept.last?.oldValue == drop.oldValue && kept.last?.priceChange == -20)
      #expect(await workshop.service.fetchUnreadCount() == 2)
      await workshop.service.markEventRead(id: drop.id)
      #expect(await workshop.service.fetchUnreadCount() == 1)
      #expect(await workshop.service.fetchMenuBarEvents(limit: 5).map(\.changeType) == [.newProduct])
      await workshop.service.markAllUnreadEventsRead()
      #expect(await workshop.service.fetchMenuBarEvents(limit: 5).count == 2, "all read: the newest")
    }
  }

  // Requirements 2.3, 2.19
  @Test("Two attempts are at least a minute apart, whether or not the first succeeded, also after a restart")
  func floor() async throws {
    try await Workshop.use { workshop in
      workshop.shop.serve([product(1)])
      let id = try await workshop.service.addStore(name: nil, domain: "mats.example")
      workshop.clock.turn(2)
      await expectSyncError(.rateLimited(retryAfter: 58)) { try await workshop.service.syncStore(storeId: id) }
      workshop.clock.turn(58)
      workshop.shop.fail(SyncFailure.networkTimeout)
      await expectSyncError(.networkTimeout) { try await workshop.service.syncStore(storeId: id) }
      workshop.clock.turn(18)
      await expectSyncError(.rateLimited(retryAfter: 42)) { try await workshop.service.syncStore(storeId: id) }
      let (shop, clock) = (workshop.shop, workshop.clock)
      let other = await StoreService.makeBackground(container: workshop.container, api: shop, now: { clock.now })
      await expectSyncError(.rateLimited(retryAfter: 42)) { try await other.syncStore(storeId: id) }
      clock.turn(-3_600)
      shop.serve([product(1)])
      try await workshop.service.syncStore(storeId: id)
      await expectSyncError(.storeNotFound) { try await workshop.service.syncStore(storeId: UUID()) }
    }
  }

  // Requirement 2.52
  @Test("A failure keeps all data and is recorded with its store until a sync succeeds")
  func failure() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      for error in [
        SyncFailure.refused(reason: "403"), .serverError(statusCode: 503), .invalidResponse(), .networkUnavailable(),
      ] {
        workshop.shop.fail(error)
        await expectSyncError(error) { try await workshop.sync(id) }
        let store = try #require(try await workshop.service.stores().first)
        #expect(store.lastError?.hasPrefix(error.errorDescription ?? "?") == true && store.cachedProductCount == 1)
        #expect(store.lastFetchedAt == store.addedAt && store.lastAttemptAt != store.addedAt)
      }
      struct Odd: Error {}
      workshop.shop.fail(Odd())
      await expectSyncError(.invalidResponse()) { try await workshop.sync(id) }
      #expect(try await workshop.sync(id, [product(1)]).isEmpty)
      #expect(try await workshop.service.stores().first?.lastError == nil)
      #expect(await workshop.service.fetchUnreadCount() == 0)
    }
  }

  @Test("A pause by Shopify applies to every store, and after a restart")
  func rest() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      let other = try await workshop.follow([product(1)], domain: "other.example")
      let until = workshop.clock.now.addingTimeInterval(120)
      workshop.shop.fail(SyncFailure.resting(until: until))
      await expectSyncError(.resting(until: until)) { try await workshop.service.sync(id) }
      let reads = workshop.shop.reads
      workshop.shop.serve([product(1)])
      await expectSyncError(.resting(until: until)) { try await workshop.service.sync(other) }
      await expectSyncError(.resting(until: until)) {
        _ = try await workshop.service.addStore(name: nil, domain: "third.example", country: nil)
      }
      let stores = try await workshop.service.stores()
      #expect(workshop.shop.reads == reads && stores.allSatisfy { $0.lastError == nil })
      workshop.clock.turn(121)
      #expect(try await workshop.sync(other).isEmpty)
      #expect(workshop.shop.reads == reads + 1)
    }
  }

  @Test("A store behind a password is reported once when it closes and once when it opens")
  func password() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      workshop.shop.fail(SyncFailure.passwordProtected)
      for _ in 0..<3 { await expectSyncError(.passwordProtected) { try await workshop.sync(id) } }
      #expect(try await workshop.service.stores().first?.isClosed == true)
      #expect(try await workshop.service.events(EventFilter()).map(\.changeType) == [.storeClosed])
      let news = try await workshop.sync(id, [product(1, prices: ["90"])])
      #expect(news.map(\.changeType) == [.storeReopened, .priceDropped])
      #expect(try await workshop.service.stores().first?.isClosed == false)
    }
  }

  @Test("An interrupted read changes nothing; a limited one reports prices and removes nothing")
  func incomplete() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1), product(2)])
      for _ in 0..<3 {
        await expectSyncError(.incomplete(reason: "The listing was not read to its end.")) {
          try await workshop.sync(id, [product(1, prices: ["80"])], isComplete: false)
        }
        let store = try #require(try await workshop.service.stores().first)
        #expect(store.cachedProductCount == 2 && store.lastError?.hasPrefix("Incomplete response") == true)
        #expect(store.lastFetchedAt == store.addedAt)
      }
      #expect(try await workshop.service.events(EventFilter()).isEmpty)
      workshop.shop.serve([product(1, prices: ["80"])], isComplete: false, isLimited: true)
      for _ in 0..<3 { try await workshop.sync(id) }
      #expect(try await workshop.service.events(EventFilter()).map(\.changeType) == [.priceDropped])
      #expect(try await workshop.service.stores().first?.cachedProductCount == 2)
      _ = try await workshop.sync(id, [product(1, prices: ["80"])])
      #expect(try await workshop.service.stores().first?.cachedProductCount == 2, "missing, not removed yet")
      let news = try await workshop.sync(id, [product(1, prices: ["80"])])
      #expect(news.map(\.changeType) == [.productRemoved])
      #expect(try await workshop.service.stores().first?.cachedProductCount == 1)
      let detail = try #require(try await workshop.service.product(storeId: id, shopifyId: 2))
      #expect(detail.isRemoved && detail.variants[0].history.count == 1, "its history is kept")
      workshop.shop.serve([product(1)], isComplete: false)
      await expectSyncError(.incomplete(reason: "The listing was not read to its end.")) {
        _ = try await workshop.service.addStore(name: nil, domain: "other.example", country: nil)
      }
      #expect(try await workshop.service.stores().count == 1)
    }
  }

  // Requirement 2.17
  @Test("A read that was overtaken by a later one is dropped")
  func overtaken() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      let (gate, end) = AsyncStream.makeStream(of: Void.self)
      workshop.shop.serve([product(1)])
      workshop.shop.hold(until: gate)
      let service = workshop.service
      let slow = Task { try await service.sync(id).count }
      while workshop.shop.reads < 2 { await Task.yield() }
      workshop.clock.turn(61)
      workshop.shop.hold(until: nil)
      #expect(try await workshop.sync(id, [product(1, prices: ["80"])]).count == 1)
      end.finish()
      #expect(try await finish(slow, within: .seconds(30)) == 0)
      #expect(try await service.events(EventFilter()).map(\.changeType) == [.priceDropped])
      #expect(try await service.product(storeId: id, shopifyId: 1)?.product.cachedPrice == 80)
      #expect(try await service.stores().first?.isSyncing == false)
    }
  }

  @Test("After a change of currency all prices are in the new one, and a later return is no price change")
  func otherMarket() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1), product(2)])
      let news = try await workshop.sync(id, [product(1)], currency: "EUR")
      #expect(news.map(\.changeType) == [.currencyChanged])
      let detail = try #require(try await workshop.service.product(storeId: id, shopifyId: 1))
      #expect(detail.variants[0].history.map(\.currency) == ["USD", "EUR"], "the number is the same, the price is not")
      let later = try await workshop.sync(id, [product(1), product(2, prices: ["140"])], currency: "EUR")
      #expect(later.isEmpty, "\(later)")
      let next = try await workshop.sync(id, [product(1), product(2, prices: ["120"])], currency: "EUR")
      #expect(next.map(\.oldValue) == ["€140.00"])
      try await workshop.service.updateStore(id: id, name: "Mats", country: "FR")
      let moved = try await workshop.sync(id, [product(1, prices: ["7"])], currency: "EUR")
      #expect(moved.map(\.changeType) == [.currencyChanged] && moved.first?.storeName == "Mats")
      #expect(moved.first?.newValue == "FR")
    }
  }

  @Test("A clock that was set back blocks nothing")
  func clockSetBack() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      workshop.shop.fail(SyncFailure.resting(until: workshop.clock.now.addingTimeInterval(120)))
      await #expect(throws: SyncFailure.self) { try await workshop.service.sync(id) }
      var out = product(1)
      out.variants[0].available = false
      workshop.clock.turn(200)
      try await workshop.sync(id, [out])
      try await workshop.notifications.sendPending()
      workshop.clock.turn(-10 * 365 * 86_400)
      #expect(try await workshop.service.restingUntil() == nil)
      try await workshop.sync(id, [product(1)])
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.map(\.body) == ["Product 1: out of stock", "Product 1: back in stock"])
    }
  }

  @Test("A history has each value since the first read, across a variant's absence")
  func history() async throws {
    try await Workshop.use { workshop in
      let whole = product(1, prices: ["100", "50"])
      let id = try await workshop.follow([whole])
      var without = whole
      without.variants.removeLast()
      without.variants[0].price = try #require(Price("90"))
      without.variants[0].compareAtPrice = Price("95")
      _ = try await workshop.sync(id, [without])
      var detail = try #require(try await workshop.service.product(storeId: id, shopifyId: 1))
      #expect(detail.variants.map(\.isMissing) == [false, true] && detail.variants[0].compareAtPrice == 95)
      #expect(detail.product.cachedPrice == 90)
      _ = try await workshop.sync(id, [whole])
      detail = try #require(try await workshop.service.product(storeId: id, shopifyId: 1))
      #expect(detail.variants.map(\.isMissing) == [false, false])
      #expect(detail.variants.map { $0.history.map(\.price) } == [[100, 90, 100], [50, 50]])
      #expect(detail.variants[0].history.map(\.compareAtPrice) == [nil, 95, nil])
      #expect(detail.url == "https://mats.example/products/product-1")
      #expect(try await workshop.service.product(storeId: id, shopifyId: 9) == nil)
    }
  }

  // Requirements 2.3, 2.17
  @Test("Of two concurrent syncs of one store, one runs and the other is rate-limited")
  func twoAtOnce() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      workshop.shop.serve([product(1, prices: ["80"])])
      let (gate, end) = AsyncStream.makeStream(of: Void.self)
      workshop.shop.hold(until: gate)
      let service = workshop.service
      let first = Task { try await service.sync(id).count }
      while workshop.shop.reads < 2 { await Task.yield() }
      #expect(try await service.stores().first?.isSyncing == true)
      await expectSyncError(.rateLimited(retryAfter: 60)) { try await service.sync(id) }
      end.finish()
      #expect(try await finish(first, within: .seconds(30)) == 1)
      #expect(try await service.events(EventFilter()).count == 1)
      #expect(try await service.stores().first?.isSyncing == false)
    }
  }

  @Test("Deleting a store deletes all of its data, and none of others")
  func deletion() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1)])
      let other = try await workshop.follow([product(1)], domain: "other.example")
      for id in [id, other] { try await workshop.sync(id, [product(1, prices: ["80"])]) }
      try await workshop.service.deleteStore(id: id)
      #expect(try await workshop.service.stores().map(\.id) == [other])
      #expect(await workshop.service.fetchUnreadCount() == 1)
      #expect(try await workshop.service.snapshotCount() == 2)
      let outbox = try await workshop.container.database.read {
        try $0.query("SELECT count(*) FROM outbox", []) {
          $0.integer(0)
        }
      }
      #expect(outbox == [1])
    }
  }

  @Test("Retention keeps the last snapshot of each variant before the limit, and undelivered events")
  func retention() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1), product(2)])
      for price in ["90", "80", "70"] {
        try await workshop.sync(id, [product(1, prices: [price]), product(2)])
        workshop.clock.turn(86_400)
      }
      let settings = workshop.container.settings
      try await workshop.service.deleteWhatIsTooOld()
      #expect(try await workshop.service.snapshotCount() == 5, "off by default")
      try await settings.set(true, for: StorageKeys.autoDeleteSnapshots)
      try await settings.set(true, for: StorageKeys.autoDeleteEvents)
      try await settings.set(2, for: StorageKeys.snapshotRetentionDays)
      try await settings.set(2, for: StorageKeys.eventRetentionDays)
      try await workshop.notifications.sendPending()
      try await workshop.service.deleteWhatIsTooOld()
      let history = try #require(try await workshop.service.product(storeId: id, shopifyId: 1)).variants[0].history
      #expect(history.map(\.price) == [80, 70], "70 is young, 80 is what held at the cut")
      let other = try #require(try await workshop.service.product(storeId: id, shopifyId: 2))
      #expect(other.variants[0].history.count == 1)
      #expect(try await workshop.service.events(EventFilter()).compactMap(\.newPrice) == [70])
    }
  }

  @Test("Retention keeps the count of a change of which one event is undelivered")
  func partRetention() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(1, prices: ["100", "100"])])
      try await workshop.sync(id, [product(1, prices: ["80", "80"])])
      try await workshop.container.database.write {
        try $0.execute("DELETE FROM outbox WHERE event IN (SELECT row FROM events WHERE is_first = 1)", [])
      }
      workshop.clock.turn(86_400)
      try await workshop.service.deleteOldEvents(olderThan: workshop.clock.now)
      #expect(await workshop.service.fetchUnreadCount() == 2)
      #expect(try await workshop.service.unreadCount() == 1)
      try await workshop.container.database.write { try $0.execute("DELETE FROM outbox", []) }
      try await workshop.service.deleteOldEvents(olderThan: workshop.clock.now)
      #expect(await workshop.service.fetchUnreadCount() == 0)
      #expect(try await workshop.service.unreadCount() == 0)
    }
  }
}
