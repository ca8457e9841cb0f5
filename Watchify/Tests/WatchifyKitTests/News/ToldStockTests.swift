import CofferRouter
import CofferSQLite
import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

/// Notified stock, with any selection of notified kinds.
@Suite(.timeLimit(.minutes(15))) struct ToldStockTests {
  private func sized(_ isAvailable: Bool) -> ShopifyProduct {
    var sized = product(1, prices: ["10", "10"])
    sized.variants[1].available = isAvailable
    return sized
  }

  /// Returns the notifications for stock that changes every seven hours.
  private func told(withoutType type: ChangeType, cycles: Int, hours: Double) async throws -> [String] {
    var bodies: [String] = []
    try await Workshop.use { workshop in
      let id = try await workshop.follow([sized(true)])
      try await workshop.container.settings.set(false, for: StorageKeys.notify(type))
      for _ in 0..<cycles {
        for isAvailable in [false, true] {
          try await workshop.sync(id, [sized(isAvailable)])
          try await workshop.notifications.sendPending()
          workshop.clock.turn(hours * 3_600)
        }
      }
      bodies = workshop.channel.delivered.map(\.body)
    }
    return bodies
  }

  @Test(
    "Restocks are notified when sell-outs are not, and vice versa", arguments: [ChangeType.outOfStock, .backInStock])
  func mirror(type: ChangeType) async throws {
    let bodies = try await told(withoutType: type, cycles: 6, hours: 7)
    #expect(bodies.count == 6, "\(bodies)")
    let words = type == .outOfStock ? "back in stock" : "out of stock"
    #expect(bodies.allSatisfy { $0.contains(words) })
  }

  @Test("A variant whose stock changes each hour is still notified once in six hours")
  func flapping() async throws {
    let bodies = try await told(withoutType: .outOfStock, cycles: 6, hours: 1)
    #expect(bodies.count == 2, "\(bodies)")
  }

  @Test("A restock after the setting changed is notified, unless it was notified already")
  func switched() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([sized(true)])
      let settings = workshop.container.settings
      func change(_ isAvailable: Bool) async throws -> Int {
        let before = workshop.channel.delivered.count
        try await workshop.sync(id, [sized(isAvailable)])
        try await workshop.notifications.sendPending()
        workshop.clock.turn(7 * 3_600)
        return workshop.channel.delivered.count - before
      }
      try await settings.set(false, for: StorageKeys.notificationsEnabled)
      #expect(try await change(false) == 0)
      try await settings.set(true, for: StorageKeys.notificationsEnabled)
      #expect(try await change(true) == 1, "it was sold out, though not notified")
      #expect(try await change(false) == 1)
      try await workshop.service.deleteOldEvents(olderThan: workshop.clock.now)
      #expect(try await change(true) == 1, "the notified stock outlives the events")
    }
  }

  private static let outage = ChannelError("The channel does not work.", isTemporary: true)

  @Test("A restock that could not be delivered has not been notified")
  func undelivered() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([sized(false)])
      try await workshop.container.settings.set(.authorized, for: StorageKeys.notificationPermission)
      workshop.channel.fail(Self.outage)
      for isAvailable in [true, false, true] {
        try await workshop.sync(id, [sized(isAvailable)])
        try await workshop.notifications.sendPending()
      }
      workshop.channel.fail(nil)
      workshop.clock.turn(7 * 3_600)
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.map(\.body) == ["Product 1, Size 1: back in stock"])
    }
  }

  @Test("What one channel has notified is no news withheld from another")
  func channels() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([sized(false)])
      let settings = workshop.container.settings
      try await settings.set(.authorized, for: StorageKeys.notificationPermission)
      try await settings.set(["desktop", "terminal"], for: StorageKeys.notificationChannels)
      let (service, channel, other) = (workshop.service, workshop.channel, RecordingChannel(name: "terminal"))
      await workshop.notifications.attach(service, channels: [channel, other])
      other.fail(Self.outage)
      for isAvailable in [true, false, true] {
        if isAvailable { try await workshop.sync(id, [sized(false)]) }
        try await workshop.sync(id, [sized(isAvailable)])
        try await workshop.notifications.sendPending()
        workshop.clock.turn(7 * 3_600)
      }
      other.fail(nil)
      try await workshop.notifications.sendPending()
      let restock = "Product 1, Size 1: back in stock"
      #expect(channel.delivered.map(\.body) == [restock, "Product 1, Size 1: out of stock", restock])
      #expect(other.delivered.map(\.body) == [restock])
    }
  }

  @Test("A channel that was not selected for a while does not compare with what it notified before")
  func deselected() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([sized(false)])
      let settings = workshop.container.settings
      let notifications = workshop.notifications
      func change(_ isAvailable: Bool, _ channels: [String]) async throws {
        try await settings.set(channels, for: StorageKeys.notificationChannels)
        try await workshop.sync(id, [sized(isAvailable)])
        try await notifications.sendPending()
        workshop.clock.turn(7 * 3_600)
      }
      try await change(true, ["desktop"])
      try await change(false, [])
      try await change(true, ["desktop"])
      #expect(workshop.channel.delivered.count == 2)
    }
  }

  @Test("A price that falls and rises in part while its news waits is a drop, also if increases are not notified")
  func partly() async throws {
    try await Workshop.use { workshop in
      let id = try await workshop.follow([product(2)])
      try await workshop.container.settings.set(false, for: StorageKeys.notify(.priceIncreased))
      try await workshop.sync(id, [product(2, prices: ["60"])])
      try await workshop.sync(id, [product(2, prices: ["80"])])
      try await workshop.notifications.sendPending()
      try await workshop.sync(id, [product(2, prices: ["70"])])
      try await workshop.sync(id, [product(2, prices: ["120"])])
      try await workshop.notifications.sendPending()
      #expect(workshop.channel.delivered.map(\.body) == ["Product 2: $80.00, was $100.00"])
    }
  }

  @Test("A variant that is unlisted and returns is notified each time")
  func unlisted() async throws {
    try await Workshop.use { workshop in
      let (whole, sold) = (sized(true), sized(false))
      var without = whole
      without.variants.removeLast()
      let id = try await workshop.follow([whole])
      for product in [sold, whole, without, without, whole, without, without, whole] {
        try await workshop.sync(id, [product])
        try await workshop.notifications.sendPending()
        workshop.clock.turn(7 * 3_600)
      }
      let bodies = workshop.channel.delivered.map(\.body)
      #expect(bodies.count == 4 && bodies.dropFirst().allSatisfy { $0.contains("back in stock") }, "\(bodies)")
    }
  }

  /// Returns the notifications for several reads whose news is delivered at the end.
  private func waited(_ reads: [[ShopifyProduct]]) async throws -> [String] {
    var bodies: [String] = []
    try await Workshop.use { workshop in
      let id = try await workshop.follow([sized(false), product(2)])
      for products in reads { try await workshop.sync(id, products) }
      try await workshop.notifications.sendPending()
      bodies = workshop.channel.delivered.map(\.body)
    }
    return bodies
  }

  @Test("Undelivered news that is out of date is not delivered")
  func untrue() async throws {
    var without = sized(true)
    without.variants.removeLast()
    let (cheap, mat) = (product(2, prices: ["60"]), product(2))
    #expect(try await waited([[sized(true), mat]]) == ["Product 1, Size 1: back in stock"])
    #expect(
      try await waited([[sized(true), mat], [without, mat]]) == ["Product 1, Size 1: back in stock"], "absent once")
    #expect(try await waited([[sized(true), mat], [without, mat], [without, mat]]).isEmpty)
    #expect(
      try await waited([[sized(true), mat], [without, mat], [without, mat], [sized(true), mat]])
        == ["Product 1, Size 1: back in stock"])
    #expect(try await waited([[sized(true), mat], [mat], [mat]]) == ["Product 1: product removed"])
    let same = sized(false)
    #expect(try await waited([[same, cheap], [same, mat]]).isEmpty, "it costs what it did")
    #expect(
      try await waited([[same, cheap], [same, product(2, prices: ["120"])]]) == ["Product 2: $120.00, was $100.00"])
    let dear = product(2, prices: ["80"])
    #expect(try await waited([[same, cheap], [same, dear]]) == ["Product 2: $80.00, was $100.00"])
    #expect(
      try await waited([[same, cheap], [same, dear], [same, product(2, prices: ["70"])], [same, dear]])
        == ["Product 2: $80.00, was $100.00"])
    #expect(try await waited([[same, cheap], [same], [same]]) == ["Product 2: product removed"])
    #expect(
      try await waited([[same, cheap], [same], [same], [same, cheap]])
        == ["Product 2: $60.00, was $100.00 · 1 price drop, 1 product returned"])
  }

  /// Returns a database of an older version, with rows, that was opened by this one.
  private func upgraded(
    from version: Int, _ rows: String, in directory: TemporaryDirectory
  ) async throws -> ModelContainer {
    let file = directory.path("watchify.db")
    let engine = try await SQLiteEngine.open(at: file)
    let database = SQLiteDatabase(engine: engine)
    try await database.migrate(Array(Schema.migrations.prefix(version)))
    try await database.write { try $0.execute(rows) }
    try await engine.close()
    return try await ModelContainer.open(at: URL(fileURLWithPath: file))
  }

  @Test("A database of the second migration keeps the notified stock and the market")
  func migration() async throws {
    let directory = try TemporaryDirectory()
    let container = try await upgraded(
      from: 4,
      """
      INSERT INTO stores (no, id, name, domain, added_at, last_fetched_at, read_country, currency)
        VALUES (1, '\(UUID().uuidString)', 'S', 's.example', 0, 5, 'US', 'USD');
      INSERT INTO products (row, store, id, title, folded_title, handle, first_seen_at, price, is_available, images)
        VALUES (1, 1, 7, 'T', 't', 't', 0, 100, 1, '');
      INSERT INTO variants VALUES (1, 8, 'M', NULL, 1000, NULL, 1, 1, 'US/USD', NULL);
      INSERT INTO variants VALUES (1, 9, 'L', NULL, 1000, NULL, 1, 2, 'US/USD', 3);
      INSERT INTO events (id, store, at, type, magnitude, product, product_title, variant, notified_at)
        VALUES ('a', 1, 1, 4, 'medium', 7, 'T', 8, NULL), ('b', 1, 2, 3, 'medium', 7, 'T', 8, 2),
          ('c', 1, 3, 4, 'medium', 7, 'T', 8, NULL);
      INSERT INTO outbox (channel, event, store, created_at) VALUES ('desktop', 3, 1, 3);
      """, in: directory)
    let (stock, markets, stored) = try await container.database.read { transaction in
      (
        try transaction.query("SELECT told_at FROM stock_told WHERE channel = 'desktop'", []) { $0.integer(0) },
        try transaction.query("SELECT market FROM markets", []) { $0.text(0) },
        try CatalogueRows.load(store: 1, in: transaction)
      )
    }
    try await container.close()
    #expect(stock == [2])
    #expect(markets == ["US/USD"])
    let variants = try #require(stored[7]).variants
    #expect(variants.map(\.missingReads) == [0, 1])
    #expect(variants[0].reference == ReferencePrice(price: Price(tenThousandths: 1_000)))
  }

  @Test("A database of the seventh migration keeps its waiting news, and what each channel was told")
  func channelMigration() async throws {
    let directory = try TemporaryDirectory()
    let container = try await upgraded(
      from: 7,
      """
      INSERT INTO stores (no, id, name, domain, added_at, last_fetched_at, read_country, currency)
        VALUES (1, '\(UUID().uuidString)', 'S', 's.example', 0, 5, 'US', 'USD');
      INSERT INTO channels VALUES ('\(UUID().uuidString)', 'phone', 'ntfy', 'ntfy.sh', '{}', NULL, 0);
      INSERT INTO told_stock VALUES (1, 7, 8, 1, 3), (1, 7, 9, 0, NULL);
      INSERT INTO events (id, store, at, type, magnitude, product, product_title, variant)
        VALUES ('a', 1, 4, 4, 'medium', 7, 'T', 8);
      INSERT INTO outbox (channel, event, store, created_at, attempts, begun) VALUES ('phone', 1, 1, 4, 3, 1);
      INSERT INTO wishes (no, id, search, condition, amount, created_at) VALUES (1, 'w', 'x', 1, 5, 77);
      INSERT INTO wish_markets (store, market, wish) VALUES (1, 'US/USD', 1);
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
        INSERT INTO wish_matches SELECT 1, 'US/USD', i, 1, i FROM n;
      """, in: directory)
    let (told, waiting, wish) = try await container.database.read { transaction in
      (
        try transaction.query("SELECT channel, variant, told_at FROM stock_told ORDER BY channel", []) {
          "\($0.text(0)) \($0.integer(1)) \($0.integer(2))"
        },
        try transaction.query("SELECT channel, event, begun FROM outbox", []) {
          "\($0.text(0)) \($0.integer(1)) \($0.integer(2))"
        },
        try transaction.query(
          "SELECT w.base_at, m.overflows FROM wishes AS w JOIN wish_markets AS m ON m.wish = w.no", []
        ) { [$0.integer(0), $0.integer(1)] }
      )
    }
    try await container.close()
    #expect(told == ["desktop 8 3", "phone 8 3"] && waiting == ["phone 1 1"])
    #expect(wish == [[77, 1]], "with more than are recorded, old ones would be told as new")
  }
}
