import Coffer
import CofferSQLite
import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import WatchifyKit

/// Acceptance point 6: a process that is killed anywhere in a sync leaves a whole sync or none, and no news is lost.
@Suite(.timeLimit(.minutes(15))) struct KillTests {
  private static let products = 120
  /// Whether the long form runs, as with `./run prove`.
  private static let isProving = ProcessInfo.processInfo.environment["COFFER_PROVE"] != nil

  // Requirements 2.22, 2.26
  @Test("6: a process killed repeatedly during a sync")
  func kills() async throws {
    let directory = try TemporaryDirectory()
    let (file, deliveries) = (directory.path("watchify.db"), directory.path("deliveries"))
    var feed = ShopGenerator(seed: 11, products: Self.products, variants: 3).feed
    for id in feed.ids { try feed.setPrice(of: id, to: 1_000) }
    let server = ReplayServer(feed: feed)
    try server.start()
    defer { server.stop() }
    let address = try ReplayFixture.address(server)
    var start = 1_790_000_000.0
    try await follow(address, in: file, at: start)
    var generator = SeededGenerator(seed: 42)
    var kills = 0
    for round in 1...(Self.isProving ? 60 : 8) {
      // All prices change together, so that a partial sync is detected.
      for id in feed.ids { try feed.setPrice(of: id, to: 1_000 + round) }
      server.set(feed: feed)
      start += 5_000  // A step below a day: longer delays in the outbox are ignored.
      let victim = try HelperProcess([file, deliveries, "\(start)"], executable: "WatchifyTestHelper")
      #expect(try victim.line() == "ready")
      try await suspend(upTo: .milliseconds(400), using: &generator)
      victim.kill()
      victim.wait()
      kills += 1
      try await check(file)
    }
    // Undelivered events are delivered by the next process.
    start += 5_000
    let last = try HelperProcess([file, deliveries, "\(start)"], executable: "WatchifyTestHelper")
    #expect(try last.line() == "ready")
    let container = try await ModelContainer.open(at: URL(fileURLWithPath: file))
    try await eventually("all events are delivered") {
      let (waiting, happened) = try await container.database.read { transaction in
        let counts = "SELECT (SELECT count(*) FROM outbox), (SELECT count(*) FROM events)"
        return try transaction.query(counts, []) { (Int($0.integer(0)), Int($0.integer(1))) }[0]
      }
      return waiting == 0 && happened > 0
    }
    last.kill()
    last.wait()
    let (events, syncs, untold) = try await container.database.read { transaction in
      let counts = try transaction.query("SELECT count(*) FROM events GROUP BY at", []) { Int($0.integer(0)) }
      let untold = try transaction.query("SELECT count(*) FROM events WHERE notified_at IS NULL", []) { $0.integer(0) }
      return (counts.reduce(0, +), counts, untold[0])
    }
    try await container.close()
    #expect(syncs.allSatisfy { $0 == Self.products * 3 }, "each sync reported all its prices: \(syncs)")
    let told = try String(contentsOfFile: deliveries, encoding: .utf8).split(separator: "\n")
    // A process killed between delivery and its record leads to a second delivery of that sync.
    #expect(untold == 0 && !told.isEmpty && told.count <= syncs.count + kills, "\(told) of \(events)")
    // News whose delivery was interrupted twice is only counted.
    let counts = told.filter { $0.contains(" while this channel did not work") }
    #expect(
      told.allSatisfy { $0.hasSuffix(" \(Self.products) price increases") || counts.contains($0) }, "\(told)")
  }

  private func follow(_ address: String, in file: String, at start: Double) async throws {
    let container = try await ModelContainer.open(at: URL(fileURLWithPath: file))
    let now = Date(timeIntervalSince1970: start)
    let gate = RequestGate(clock: ShopClock(now: { now }, sleep: { _ in }))
    let service = await StoreService.makeBackground(
      container: container, api: ShopifyClient(gate: gate), now: { now })
    _ = try await service.addStore(name: "Victim", domain: address)
    try await container.close()
  }

  /// Checks that the database is intact and contains a complete last sync.
  private func check(_ file: String) async throws {
    let container = try await ModelContainer.open(at: URL(fileURLWithPath: file))
    let (integrity, prices, snapshots, events) = try await container.database.read { transaction in
      (
        try transaction.query("PRAGMA integrity_check", []) { $0.text(0) },
        try transaction.query("SELECT DISTINCT price FROM variants", []) { $0.integer(0) },
        try transaction.query("SELECT count(*) FROM snapshots GROUP BY at", []) { Int($0.integer(0)) },
        try transaction.query("SELECT count(*) FROM events GROUP BY at", []) { Int($0.integer(0)) }
      )
    }
    try await container.close()
    #expect(integrity == ["ok"] && prices.count == 1, "\(integrity) \(prices)")
    #expect(snapshots.allSatisfy { $0 == Self.products * 3 } && events.allSatisfy { $0 == Self.products * 3 })
    #expect(snapshots.count == events.count + 1, "one snapshot for each reported price")
  }
}
