import Coffer
import CofferCore
import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import WatchifyKit

/// Acceptance points 4, 5 and 7, over HTTP against replayed shops.
@Suite(.timeLimit(.minutes(15))) struct ReplayAcceptanceTests {
  // Requirement 2.25
  @Test("4: an incomplete read never removes anything; the next complete one clears the error")
  func noFalseRemoval() async throws {
    try await ReplayFixture.use { fixture in
      let shop = ShopGenerator(seed: 7, products: 600)
      let server = ReplayServer(feed: shop.feed)
      try server.start()
      defer { server.stop() }
      let id = try await fixture.service.addStore(name: nil, domain: ReplayFixture.address(server))
      let faults: [(String, ReplayFault, page: Int?)] = [
        ("an empty first page", .empty, 1), ("an empty page in the middle", .empty, 2),
        ("500 in the middle", .complexity, 2),
        ("a password page", .password, nil), ("a page of HTML", .html, 2), ("truncated", .truncated, 3),
        ("a reset", .reset, 2), ("forbidden", .status(403), 1), ("frozen", .status(402), 1), ("430", .status(430), 2),
        ("an errors key", .errors(), 2),
      ]
      for (name, fault, page) in faults {
        server.set(mode: fault, page: page)
        _ = try await fixture.round()
        let store = try #require(try await fixture.service.stores().first)
        #expect(store.cachedProductCount == 600, "\(name)")
        #expect(store.lastError != nil, "\(name)")
        server.set(mode: nil)
        _ = try await fixture.round()
        #expect(try await fixture.service.stores().first?.lastError == nil, "\(name): the next good read clears it")
      }
      let types = Set(try await fixture.service.events(EventFilter(), limit: 1_000).map(\.changeType))
      #expect(types == [.storeClosed, .storeReopened])
      #expect(await fixture.service.fetchProductCount(storeId: id) == 600)
    }
  }

  @Test("4: short pages and a list that shifts under the walk lose nothing")
  func shifting() async throws {
    try await ReplayFixture.use { fixture in
      let shop = ShopGenerator(seed: 8, products: 600)
      var configuration = ReplayConfiguration()
      configuration.leftOut = [1: 5, 2: 7]
      let server = ReplayServer(feed: shop.feed, configuration: configuration)
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: nil, domain: ReplayFixture.address(server))
      let count = try #require(try await fixture.service.stores().first).cachedProductCount
      #expect(count == 588, "products that the shop withholds are absent")
      server.configure {
        $0.leftOut = [:]
        $0.shiftsAfterPage = 1
      }
      for _ in 0..<3 {
        let news = try await fixture.round()
        #expect(!news.contains { $0.changeType == .productRemoved })
      }
    }
  }

  @Test("5: twenty stores, one request at a time; after a refusal by Shopify no request is made until the pause ends")
  func manners() async throws {
    try await ReplayFixture.use(behindShopify: true) { fixture in
      let log = Locked<(inFlight: Int, most: Int, requests: Int)>((0, 0, 0))
      var servers: [ReplayServer] = []
      for seed in 0..<20 {
        var configuration = ReplayConfiguration()
        configuration.name = "Shop \(seed)"
        configuration.permanentDomain = "shop-\(seed).myshopify.example"
        configuration.onRequest = { _ in log.withLock { $0.requests += 1 } }
        let feed = ShopGenerator(seed: UInt64(seed), products: 20).feed
        let server = ReplayServer(feed: feed, configuration: configuration)
        try server.start()
        servers.append(server)
        _ = try await fixture.service.addStore(name: nil, domain: ReplayFixture.address(server))
      }
      defer { for server in servers { server.stop() } }
      // Concurrent callers, such as a window, a loop and a command.
      let ids = try await fixture.service.storeIds()
      fixture.time.advance(by: .seconds(61))
      let service = fixture.service
      await withTaskGroup(of: Void.self) { group in
        for id in ids { group.addTask { _ = try? await service.sync(id) } }
      }
      let records = servers.flatMap(\.requests)
      #expect(records.count >= 20 * 2 * 2)
      #expect(servers.allSatisfy { $0.maximumInFlight == 1 })
      let agents = Set(records.map { $0.header("user-agent") ?? "" })
      #expect(agents.count == 1 && agents.first?.hasPrefix("Watchify/") == true)
      #expect(records.allSatisfy { $0.header("cookie") == nil })
      #expect(fixture.time.slept.contains(.seconds(1)) && fixture.time.slept.contains { $0 > .seconds(1) })

      servers[3].script([.fault(.status(429, retryAfter: "60"))])
      let before = log.withLock { $0.requests }
      _ = try await fixture.round()
      let refused = log.withLock { $0.requests }
      #expect(refused > before)
      let until = try #require(try await fixture.service.restingUntil())
      #expect(until.timeIntervalSince(fixture.time.now) > 100, "Retry-After is not believed when it is shorter")
      _ = try await fixture.round()
      await expectSyncError(.resting(until: until)) { try await fixture.service.sync(ids[9]) }
      #expect(log.withLock { $0.requests } == refused, "no request was made")
      #expect(await BackgroundSyncState.shared.storeErrors[ids[3]] == nil, "a pause is no error of a store")

      // A new process reads the pause from the database.
      let client = ShopifyClient(gate: RequestGate(clock: fixture.time.clock))
      let other = await StoreService.makeBackground(
        container: fixture.container, api: client, now: { fixture.time.now })
      await expectSyncError(.resting(until: until)) { try await other.sync(ids[9]) }
      #expect(client.gate.restingUntil == until && log.withLock { $0.requests } == refused)
      fixture.time.advance(by: .seconds(121))
      _ = try await fixture.round()
      #expect(log.withLock { $0.requests } > refused + 20, "afterwards reading resumes automatically")
    }
  }

  @Test(
    "7: a notification on a real bus, and its replacement",
    .enabled(if: PrivateBus.isInstalled, "dbus-daemon is not installed"))
  func desktop() async throws {
    let bus = try await PrivateBus.start()
    let stub = try await StubServer.start(on: bus)
    try await ReplayFixture.use { fixture in
      let shop = ShopGenerator(seed: 9, products: 20)
      var configuration = ReplayConfiguration()
      configuration.name = "Mats & More"
      let server = ReplayServer(feed: shop.feed, configuration: configuration)
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: nil, domain: ReplayFixture.address(server))
      func tell() async throws -> [ChangeEventDTO] {
        // A new channel each time, as after a restart.
        let channel = DesktopChannel(
          replacements: ShownNotifications(database: fixture.container.database), environment: bus.environment)
        let (service, notifications) = (fixture.service, await NotificationService())
        await notifications.attach(service, channels: [channel])
        fixture.time.advance(by: .seconds(61))
        return await service.syncAllStoresWithErrorTracking(notifications: notifications)
      }
      try server.update { feed throws(ReplayError) in try feed.changePrice(of: shop.id(of: 1), byPercent: -40) }
      #expect(!(try await tell()).isEmpty)
      try server.update { feed throws(ReplayError) in try feed.changePrice(of: shop.id(of: 2), byPercent: 20) }
      #expect(!(try await tell()).isEmpty)
      let shown = stub.shown
      try #require(shown.count == 2)
      #expect(shown.map(\.appName) == ["Watchify", "Watchify"] && shown.allSatisfy { $0.summary.contains("Mats") })
      #expect(shown.allSatisfy { $0.body.contains(", was $") })
      #expect(shown[0].replacedId == 0 && shown[1].replacedId == 1, "the store's notification is replaced")

      try await stub.stop()
      try server.update { feed throws(ReplayError) in try feed.changePrice(of: shop.id(of: 3), byPercent: -40) }
      #expect(!(try await tell()).isEmpty, "the sync succeeds without a server")
      #expect(try await !fixture.service.waitingNews().isEmpty, "and the news stays in the outbox")
    }
    try await bus.stop()
  }
}
