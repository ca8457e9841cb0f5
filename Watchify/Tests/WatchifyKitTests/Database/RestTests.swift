import CofferSQLite
import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import WatchifyKit

/// The scope, length and end of pauses.
@Suite("Pauses that shops ask for", .serialized, .timeLimit(.minutes(15))) struct RestTests {
  private func shops(_ count: Int, _ fixture: ReplayFixture) async throws -> (servers: [ReplayServer], ids: [UUID]) {
    var (servers, ids): ([ReplayServer], [UUID]) = ([], [])
    for seed in 0..<count {
      let server = ReplayServer(feed: ShopGenerator(seed: UInt64(seed), products: 3).feed)
      try server.start()
      servers.append(server)
      ids.append(try await fixture.service.addStore(name: "S\(seed)", domain: ReplayFixture.address(server)))
    }
    return (servers, ids)
  }

  // Requirement 2.6
  @Test("One shop's excessive pause applies to that shop only, for an hour, also after a restart")
  func oneShop() async throws {
    try await ReplayFixture.use { fixture in
      let (servers, _) = try await shops(3, fixture)
      defer { for server in servers { server.stop() } }
      servers[0].set(mode: .status(429, retryAfter: "99999999999"))
      for server in servers { server.forgetRequests() }
      try await fixture.round()
      let rest = try #require(try await fixture.service.rests().first)
      let address = try ReplayFixture.address(servers[0])
      #expect(rest.shop?.domain == address && rest.until.timeIntervalSince(fixture.time.now) <= 3_600)
      #expect(try await fixture.service.restingUntil() == nil)
      #expect(servers.map(\.requests.count) == [1, 2, 2], "the others are read")
      let words = SyncFailure.resting(until: rest.until, shop: address)
      #expect(words.failureReason?.hasPrefix("\(address) asked us to slow down") == true)

      // Another process observes it too.
      let client = ShopifyClient(gate: RequestGate(clock: fixture.time.clock))
      let other = await StoreService.makeBackground(
        container: fixture.container, api: client, now: { fixture.time.now })
      fixture.time.advance(by: .seconds(1_800))
      await other.syncAllStores()
      #expect(servers.map(\.requests.count)[0] == 1 && servers[1].requests.count > 2)
      servers[0].set(mode: nil)
      fixture.time.advance(by: .seconds(1_800))
      try await fixture.round()
      #expect(servers[0].requests.count > 1)
    }
  }

  /// A wrapper of a client, such as one that counts requests.
  private struct Wrapped: ShopifyAPIProtocol {
    let base: ShopifyClient
    let requestGate: RequestGate?

    func fetchProducts(domain: String) async throws -> [ShopifyProduct] { try await base.fetchProducts(domain: domain) }
    func read(_ request: ShopRequest) async throws -> ShopReading { try await base.read(request) }
    func describe(_ request: ShopRequest) async throws -> ShopDescription { try await base.describe(request) }
  }

  // Requirement 2.21
  @Test(
    "Refusals are counted with a wrapped client; the pause doubles if its gate is forwarded",
    arguments: [true, false])
  func wrapped(passesGate: Bool) async throws {
    try await ReplayFixture.use { fixture in
      let (servers, _) = try await shops(1, fixture)
      defer { servers[0].stop() }
      servers[0].set(mode: .status(429))
      try await fixture.round()
      #expect(try await fixture.service.rests().map(\.refusals) == [1])
      fixture.time.advance(by: .seconds(121))
      // After a restart.
      let client = ShopifyClient(gate: RequestGate(clock: fixture.time.clock))
      let other = await StoreService.makeBackground(
        container: fixture.container, api: Wrapped(base: client, requestGate: passesGate ? client.gate : nil),
        now: { fixture.time.now })
      await other.syncAllStores()
      let rest = try #require(try await other.rests().first)
      #expect(rest.refusals == 2)
      #expect((rest.until.timeIntervalSince(fixture.time.now) / 120).rounded() == (passesGate ? 2 : 1))
      // An error during the pause is not another refusal.
      try await fixture.container.database.write { try $0.execute("UPDATE stores SET last_attempt_at = 0") }
      await other.syncAllStores()
      #expect(try await other.rests().map(\.refusals) == [2])
    }
  }

  // Requirement 2.6
  @Test("resume ends the pause of one store, or all pauses, in running processes as well")
  func resume() async throws {
    try await ReplayFixture.use { fixture in
      let (servers, ids) = try await shops(2, fixture)
      defer { for server in servers { server.stop() } }
      for server in servers { server.set(mode: .status(429)) }
      try await fixture.round()
      #expect(try await fixture.service.rests().count == 2)
      for server in servers { server.set(mode: nil) }
      // A separate process, like the command.
      let client = ShopifyClient(gate: RequestGate(clock: fixture.time.clock))
      let other = await StoreService.makeBackground(
        container: fixture.container, api: client, now: { fixture.time.now })
      let ended = try await other.resume(storeId: ids[0])
      #expect(ended.map(\.shop?.domain) == [try ReplayFixture.address(servers[0])])
      await expectSyncError(.storeNotFound) { try await other.resume(storeId: UUID()) }
      let before = servers.map(\.requests.count)
      fixture.time.advance(by: .seconds(30))
      try await fixture.container.database.write { try $0.execute("UPDATE stores SET last_attempt_at = 0") }
      await fixture.service.syncAllStores()
      #expect(servers[0].requests.count > before[0] && servers[1].requests.count == before[1])
      try await fixture.container.database.write { try $0.execute("UPDATE stores SET last_attempt_at = 0") }
      #expect(try await other.resume().count == 1)
      #expect(try await other.resume().isEmpty)
      await fixture.service.syncAllStores()
      #expect(servers[1].requests.count > before[1])
    }
  }

  @Test("Shopify's pause applies to every shop; resume of one store ends all pauses that apply to it")
  func everyShop() async throws {
    try await ReplayFixture.use(behindShopify: true) { fixture in
      let (servers, ids) = try await shops(2, fixture)
      defer { for server in servers { server.stop() } }
      servers[0].set(mode: .status(429, retryAfter: "99999999999"))
      try await fixture.round()
      let until = try #require(try await fixture.service.restingUntil())
      #expect(until.timeIntervalSince(fixture.time.now) <= 3_600)
      await expectSyncError(.resting(until: until)) { try await fixture.service.sync(ids[1]) }
      #expect(try await fixture.service.resume(storeId: ids[1]).map(\.shop) == [nil])
      fixture.time.advance(by: .seconds(61))
      try await fixture.service.sync(ids[1])
    }
  }

  @Test("A database of an earlier version keeps its stores and has no pause")
  func migration() async throws {
    let directory = try TemporaryDirectory()
    let file = URL(fileURLWithPath: directory.path("watchify.db"))
    let engine = try await SQLiteEngine.open(at: file.path)
    let database = SQLiteDatabase(engine: engine)
    try await database.migrate(Array(Schema.migrations.prefix(2)))
    try await database.write { try $0.execute("INSERT INTO rest VALUES (1, 9000000000000, 3)") }
    try await engine.close()
    let container = try await ModelContainer.open(at: file)
    let service = await StoreService.makeBackground(container: container)
    let rests = try await service.rests()
    #expect(rests.isEmpty)
    try await container.close()
  }
}
