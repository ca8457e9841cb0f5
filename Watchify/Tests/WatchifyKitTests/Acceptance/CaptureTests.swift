import CofferRouter
import Foundation
import ReplayShop
import Testing

@testable import WatchifyKit

/// Acceptance points 1 to 3 with captures of real shops, replayed over HTTP.
@Suite(.enabled(if: CapturedShops.folder != nil, "there are no captured shops"), .timeLimit(.minutes(15)))
struct CaptureTests {
  /// Two captures of one shop and the expected number of changes of each kind.
  struct Pair: CustomTestStringConvertible, Sendable {
    var store: String
    var from: String
    var to: String
    var kind: String
    var counts: [ChangeType: Int]
    var testDescription: String { "\(store) \(from) to \(to)" }
  }

  static let pairs: [Pair] = {
    guard let folder = CapturedShops.folder,
      let text = try? String(contentsOf: folder.appendingPathComponent("EXPECTED.tsv"), encoding: .utf8)
    else { return [] }
    let lines = text.split(separator: "\n").map { $0.split(separator: "\t", omittingEmptySubsequences: false) }
    guard let head = lines.first else { return [] }
    let columns: [(ChangeType, Substring)] = [
      (.priceDropped, "priceDropped"), (.priceIncreased, "priceIncreased"), (.compareAtChanged, "compareAtChanged"),
      (.backInStock, "backInStock"), (.outOfStock, "outOfStock"), (.newProduct, "newProduct"),
      (.productRemoved, "productRemoved"), (.newVariant, "newVariant"), (.imagesChanged, "imagePathsChanged"),
    ]
    return lines.dropFirst().compactMap { line in
      guard line.count == head.count else { return nil }
      var counts: [ChangeType: Int] = [:]
      for (type, column) in columns {
        guard let index = head.firstIndex(of: column), let count = Int(line[index]) else { return nil }
        if count > 0 { counts[type] = count }
      }
      let pair = Pair(
        store: String(line[0]), from: String(line[1]), to: String(line[2]), kind: String(line[3]), counts: counts)
      return [pair.from, pair.to].allSatisfy { FileManager.default.fileExists(atPath: file(pair.store, $0).path) }
        ? pair : nil
    }
  }()

  static func file(_ store: String, _ moment: String) -> URL {
    (CapturedShops.folder ?? URL(fileURLWithPath: "/")).appendingPathComponent("yogamatlab/\(store)/\(moment).json")
  }

  private func feed(_ store: String, _ moment: String) throws -> ShopFeed {
    try ShopFeed(recorded: Data(contentsOf: Self.file(store, moment)))
  }

  /// A shop with the base currency `base` that serves `served` in the US, with the captured prices.
  private func server(_ feed: ShopFeed, base: String = "USD", served: String? = "USD") -> ReplayServer {
    var configuration = ReplayConfiguration()
    configuration.name = "Captured"
    configuration.currency = base
    configuration.country = "ZZ"
    configuration.markets = served.map { [Market(country: "US", currency: $0, rate: 1)] } ?? []
    configuration.statesCurrency = served != nil
    return ReplayServer(feed: feed, configuration: configuration)
  }

  private func counts(_ events: [ChangeEventDTO]) -> [ChangeType: Int] {
    Dictionary(grouping: events, by: \.changeType).mapValues(\.count)
  }

  @Test("The pairs of captures exist")
  func present() { #expect(Self.pairs.count >= 7) }

  @Test("1: an unchanged capture reports nothing, although every updated_at changed", arguments: CapturedShops.pages)
  func quiet(file: URL) async throws {
    try await ReplayFixture.use { fixture in
      let server = server(try ShopFeed(recorded: Data(contentsOf: file)))
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: nil, domain: ReplayFixture.address(server), country: "US")
      let snapshots = try await fixture.snapshots()
      try server.update { feed throws(ReplayError) in
        try feed.touch(0..<feed.count)
        for id in feed.ids { try feed.touchImages(of: id) }
      }
      let news = try await fixture.round()
      let reads = server.requests.filter { $0.target.hasPrefix("/products.json") }
      #expect(reads.count == (server.feed.count == 0 ? 2 : 4), "it was read twice, up to the empty page")
      #expect(news.isEmpty && fixture.channel.delivered.isEmpty)
      #expect(try await fixture.snapshots() == snapshots && (snapshots > 0) == (server.feed.count > 0))
    }
  }

  // Requirement 2.24
  @Test("2: exactly the changes are reported", arguments: pairs.filter { $0.kind == "time" })
  func exact(pair: Pair) async throws {
    try await ReplayFixture.use { fixture in
      try await fixture.container.settings.set(1, for: StorageKeys.syncsUntilRemoved)
      let server = server(try feed(pair.store, pair.from))
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: "Captured", domain: ReplayFixture.address(server), country: "US")
      server.set(feed: try feed(pair.store, pair.to))
      let news = try await fixture.round()
      #expect(counts(news) == pair.counts)
      let wanted = pair.counts.keys.contains { $0 != .imagesChanged && $0 != .compareAtChanged }
      #expect(fixture.channel.delivered.count == (wanted ? 1 : 0), "one notification, whatever the number")
      let again = try await fixture.round()
      #expect(again.isEmpty && fixture.channel.delivered.count <= 1)
    }
  }

  @Test("2: a cut of one product in 54 variants is one notification and one row of the list")
  func stakt() async throws {
    let pair = try #require(Self.pairs.first { $0.store == "stakt" })
    try await ReplayFixture.use { fixture in
      let server = server(try feed(pair.store, pair.from))
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: "Stakt", domain: ReplayFixture.address(server), country: "US")
      server.set(feed: try feed(pair.store, pair.to))
      let news = try await fixture.round()
      let drops = news.filter { $0.changeType == .priceDropped }
      #expect(drops.count == 54 && Set(drops.map(\.productShopifyId)).count == 1)
      #expect(drops.allSatisfy { $0.oldValue == "$164.80" && $0.newValue == "$137.60" && $0.magnitude == .medium })
      let lists = news.filter { $0.changeType == .compareAtChanged }
      #expect(lists.allSatisfy { $0.oldValue == "$206.00" && $0.newValue == "$172.00" })
      let title = try #require(drops.first?.productTitle)
      let bodies = fixture.channel.delivered.map(\.body)
      #expect(
        bodies == ["\(title): $137.60, was $164.80"] || bodies == ["\(title): $137.60, was $164.80 · 1 price drop"])
      let groups = ActivityGroup.groups(of: news.reversed(), windowMinutes: 5)
      #expect(groups.filter { $0.events[0].changeType.category == .price }.count == 1)
    }
  }

  @Test(
    "3: the exchange rate of a converted shop is no news; its moves are in the price history",
    arguments: [
      ("houseofmats", "20260107T1507Z-us", "20260109T1303Z-us"),
      ("yogamatters", "20260113T0359Z-us", "20260114T1517Z-us"),
    ])
  func exchangeRate(store: String, from: String, to: String) async throws {
    try await ReplayFixture.use { fixture in
      let server = server(try feed(store, from), base: "GBP", served: "USD")
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: nil, domain: ReplayFixture.address(server), country: "US")
      #expect(try await fixture.service.stores().first?.currency == "USD")
      let snapshots = try await fixture.snapshots()
      server.set(feed: try feed(store, to))
      let news = try await fixture.round()
      #expect(news.filter { $0.changeType.category == .price }.isEmpty, "\(counts(news))")
      #expect(try await fixture.snapshots() >= snapshots + 21)
    }
  }

  @Test("3: a change of market between two reads loses no news", arguments: pairs.filter { $0.kind == "time" })
  func journey(pair: Pair) async throws {
    try await ReplayFixture.use { fixture in
      try await fixture.container.settings.set(1, for: StorageKeys.syncsUntilRemoved)
      let server = server(try feed(pair.store, pair.from))
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: "Captured", domain: ReplayFixture.address(server), country: "US")
      guard server.feed.count > 0 else { return }
      server.configure { $0.markets = [Market(country: "US", currency: "SGD", rate: 1.29)] }
      #expect(try await fixture.round().map(\.changeType) == [.currencyChanged])
      server.set(feed: try feed(pair.store, pair.to))
      server.configure { $0.markets = [Market(country: "US", currency: "USD", rate: 1)] }
      var expected = pair.counts
      expected[.currencyChanged] = 1
      let news = try await fixture.round()
      #expect(counts(news) == expected)
      #expect(try await fixture.round().isEmpty)
    }
  }

  @Test(
    "3: what changes during a stay in another market is reported once", arguments: pairs.filter { $0.kind == "time" })
  func once(pair: Pair) async throws {
    try await ReplayFixture.use { fixture in
      try await fixture.container.settings.set(1, for: StorageKeys.syncsUntilRemoved)
      let server = server(try feed(pair.store, pair.from))
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: "Captured", domain: ReplayFixture.address(server), country: "US")
      guard server.feed.count > 0 else { return }
      server.configure { $0.markets = [Market(country: "US", currency: "SGD", rate: 1.29)] }
      #expect(try await fixture.round().map(\.changeType) == [.currencyChanged])
      server.set(feed: try feed(pair.store, pair.to))
      var news = try await fixture.round()
      server.configure { $0.markets = [Market(country: "US", currency: "USD", rate: 1)] }
      news += try await fixture.round()
      var expected = pair.counts
      expected[.currencyChanged] = 1
      #expect(counts(news) == expected)
      server.configure { $0.markets = [Market(country: "US", currency: "SGD", rate: 1.29)] }
      #expect(try await fixture.round().map(\.changeType) == [.currencyChanged])
    }
  }

  @Test(
    "3: nor is it on the return, if the other market differs",
    // The third one has nothing in stock in both markets.
    arguments: pairs.filter { $0.kind != "time" && $0.store != "yogi-bare" })
  func onceAbroad(pair: Pair) async throws {
    try await ReplayFixture.use { fixture in
      var (here, there) = (try feed(pair.store, pair.from), try feed(pair.store, pair.to))
      let server = server(here)
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: "Captured", domain: ReplayFixture.address(server), country: "US")
      server.set(feed: there)
      server.configure { $0.markets = [Market(country: "US", currency: "SGD", rate: 1)] }
      #expect(try await fixture.round().map(\.changeType) == [.currencyChanged])
      let product = try #require(
        try there.ids.first { id in
          guard here.ids.contains(id) else { return false }
          let stock = try here.product(id).variants.map(\.isAvailable)
          return try stock.contains(true) && stock == there.product(id).variants.map(\.isAvailable)
        })
      try here.sellOut(product)
      try here.changePrice(of: product, byPercent: -30)
      try there.sellOut(product)
      try there.changePrice(of: product, byPercent: -30)
      server.set(feed: there)
      let news = try await fixture.round()
      #expect(counts(news).keys.count == 2 && counts(news)[.outOfStock] != nil && counts(news)[.priceDropped] != nil)
      server.set(feed: here)
      server.configure { $0.markets = [Market(country: "US", currency: "USD", rate: 1)] }
      let back = try await fixture.round()
      #expect(back.map(\.changeType) == [.currencyChanged], "\(counts(back))")
      server.set(feed: there)
      server.configure { $0.markets = [Market(country: "US", currency: "SGD", rate: 1)] }
      #expect(try await fixture.round().map(\.changeType) == [.currencyChanged])
    }
  }

  @Test("3: another currency is one notice and nothing else", arguments: pairs.filter { $0.kind != "time" })
  func market(pair: Pair) async throws {
    try await ReplayFixture.use { fixture in
      let server = server(try feed(pair.store, pair.from))
      try server.start()
      defer { server.stop() }
      let id = try await fixture.service.addStore(name: nil, domain: ReplayFixture.address(server), country: "US")
      server.set(feed: try feed(pair.store, pair.to))
      server.configure { $0.markets = [Market(country: "US", currency: "SGD", rate: 1)] }
      let news = try await fixture.round()
      #expect(news.map(\.changeType) == [.currencyChanged] && news.first?.newValue == "SGD")
      #expect(fixture.channel.delivered.map(\.body) == ["prices now in SGD"])
      for _ in 0..<3 { #expect(try await fixture.round().isEmpty, "nor later") }
      let product = try #require(await fixture.service.fetchProducts(storeId: id).first)
      #expect(product.currency == "SGD" && Money.text(product.cachedPrice, product.currency).hasPrefix("SGD"))
    }
  }
}
