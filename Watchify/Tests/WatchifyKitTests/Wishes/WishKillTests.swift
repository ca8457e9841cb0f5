import CofferRouter
import CofferSQLite
import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import WatchifyKit

/// Wishes with processes that sync at the same time and are killed: a wish that came true has exactly one event for
/// each time, in the commit of the prices, and all of them are delivered.
@Suite(.timeLimit(.minutes(15)), .serialized) struct WishKillTests {
  private static let products = 40
  /// The condition for products that can fulfil the wish.
  private static let isMeant = "instr(folded_title, 'e') > 0 AND is_available"
  private static let isProving = ProcessInfo.processInfo.environment["COFFER_PROVE"] != nil

  @Test("Two processes sync, and one is killed repeatedly")
  func kills() async throws {
    let directory = try TemporaryDirectory()
    let (file, deliveries) = (directory.path("watchify.db"), directory.path("deliveries"))
    var feed = ShopGenerator(seed: 12, products: Self.products, variants: 1).feed
    for id in feed.ids { try feed.setPrice(of: id, to: 1_000) }
    let server = ReplayServer(feed: feed)
    try server.start()
    defer { server.stop() }
    var start = 1_790_000_000.0
    try await follow(try ReplayFixture.address(server), in: file, at: start)
    var generator = SeededGenerator(seed: 43)
    for round in 1...(Self.isProving ? 40 : 6) {
      // Amounts in cents: 10 in odd rounds, 1,000 in even ones; the wish is for 500.
      for id in feed.ids { try feed.setPrice(of: id, to: round % 2 == 1 ? 10 : 1_000) }
      server.set(feed: feed)
      start += 5_000
      let victims = try (0..<2).map { _ in
        try HelperProcess([file, deliveries, "\(start)"], executable: "WatchifyTestHelper")
      }
      for victim in victims { #expect(try victim.line() == "ready") }
      for victim in victims {
        try await suspend(upTo: .milliseconds(500), using: &generator)
        victim.kill()
        victim.wait()
      }
      try await check(file)
    }
    for id in feed.ids { try feed.setPrice(of: id, to: 10) }
    server.set(feed: feed)
    start += 5_000
    let last = try HelperProcess([file, deliveries, "\(start)"], executable: "WatchifyTestHelper")
    #expect(try last.line() == "ready")
    try await eventually("all news is delivered or withdrawn") { try await isDelivered(file) }
    last.kill()
    last.wait()
    try await check(file)
    let told = try String(contentsOfFile: deliveries, encoding: .utf8).split(separator: "\n")
    #expect(
      told.contains { $0.contains("below your ") && $0.contains("matches “e”") && $0.hasSuffix(" more") }, "\(told)")
  }

  private func follow(_ address: String, in file: String, at start: Double) async throws {
    let container = try await ModelContainer.open(at: URL(fileURLWithPath: file))
    let now = Date(timeIntervalSince1970: start)
    let gate = RequestGate(clock: ShopClock(now: { now }, sleep: { _ in }))
    let service = await StoreService.makeBackground(
      container: container, api: ShopifyClient(gate: gate), now: { now })
    try await container.settings.set(0, for: StorageKeys.stockQuietHours)
    let store = try await service.addStore(name: "Victim", domain: address)
    let prices = try await service.products(ProductQuery(storeId: store)).map(\.cachedPrice)
    let price = try #require(prices.first)
    let wish = try await service.addWish(.search(storeId: nil, text: "e"), .priceAtMost(price / 2))
    #expect(!wish.isTrue)
    try await container.close()
  }

  private func isDelivered(_ file: String) async throws -> Bool {
    let container = try await ModelContainer.open(at: URL(fileURLWithPath: file))
    let (waiting, matches) = try await container.database.read { transaction in
      let counts = "SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM wish_matches)"
      return try transaction.query(counts, []) { (Int($0.integer(0)), Int($0.integer(1))) }[0]
    }
    try await container.close()
    return waiting == 0 && matches > 0
  }

  /// Checks that the events and matches are those of the stored prices.
  private func check(_ file: String) async throws {
    let container = try await ModelContainer.open(at: URL(fileURLWithPath: file))
    try await container.database.read { transaction in
      #expect(try transaction.query("PRAGMA integrity_check", []) { $0.text(0) } == ["ok"])
      let limit = try transaction.query("SELECT amount FROM wishes", []) { $0.integer(0) }[0]
      let prices = try transaction.query("SELECT DISTINCT price <= \(limit) FROM products", []) { $0.flag(0) }
      #expect(prices.count == 1, "a sync is written as a whole")
      let matches = try transaction.query("SELECT count(*) FROM wish_matches", []) { Int($0.integer(0)) }[0]
      let meant = try transaction.query("SELECT count(*) FROM products WHERE \(Self.isMeant)", []) {
        Int($0.integer(0))
      }
      #expect(meant[0] > 10 && matches == (prices == [true] ? meant[0] : 0))
      // Each snapshot of a low price follows one of a high price.
      let times = try transaction.query(
        """
        SELECT count(*) FROM snapshots WHERE price <= \(limit)
          AND product IN (SELECT row FROM products WHERE \(Self.isMeant))
        """, []
      ) { Int($0.integer(0)) }[0]
      let events = try transaction.query("SELECT count(*) FROM events WHERE type = 14", []) { Int($0.integer(0)) }[0]
      #expect(events == times, "one event for each time that it came true")
    }
    try await container.close()
  }
}
