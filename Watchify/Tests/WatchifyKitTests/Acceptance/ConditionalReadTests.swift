import Coffer
import CofferTesting
import Foundation
import ReplayShop
import Testing

@testable import WatchifyKit

/// Conditional requests to a shop that supports them.
@Suite(.timeLimit(.minutes(15))) struct ConditionalReadTests {
  private func lists(_ server: ReplayServer) -> [RequestRecord] {
    server.requests.filter { $0.target.hasPrefix("/products.json") }
  }

  /// Runs one more round; returns its news and the statuses of its requests for lists, in order.
  private func round(_ fixture: ReplayFixture, _ server: ReplayServer) async throws -> (
    news: [ChangeEventDTO], statuses: [Int]
  ) {
    server.forgetRequests()
    let news = try await fixture.round()
    return (news, lists(server).compactMap(\.status))
  }

  @Test("An unchanged page costs one short response; a change is found on any page")
  func pages() async throws {
    try await ReplayFixture.use { fixture in
      let shop = ShopGenerator(seed: 11, products: 600)
      let server = ReplayServer(feed: shop.feed)
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: nil, domain: ReplayFixture.address(server))
      #expect(lists(server).allSatisfy { $0.header("If-None-Match") == nil })
      for _ in 0..<2 {
        let before = try #require(try await fixture.service.stores().first?.lastFetchedAt)
        let quiet = try await round(fixture, server)
        #expect(quiet.news.isEmpty && quiet.statuses == [304, 304, 304, 304])
        let store = try #require(try await fixture.service.stores().first)
        #expect(store.cachedProductCount == 600 && store.lastError == nil)
        #expect(try #require(store.lastFetchedAt) > before)
      }
      // The last page of products changes: earlier pages are read as well, the later one is requested again.
      let last = try #require(server.feed.ids.last)
      try server.update { try $0.changePrice(of: last, byPercent: -20) }
      let changed = try await round(fixture, server)
      #expect(!changed.news.isEmpty && changed.news.allSatisfy { $0.changeType == .priceDropped })
      #expect(changed.statuses == [304, 304, 200, 200, 200, 200])
      let first = try #require(server.feed.ids.first)
      try server.update { try $0.changePrice(of: first, byPercent: -20) }
      let again = try await round(fixture, server)
      #expect(!again.news.isEmpty && again.statuses == [200, 200, 200, 200], "no page is read twice")
      #expect(try await round(fixture, server).statuses == [304, 304, 304, 304])
    }
  }

  @Test("A complete read once a day, after a failure, while a product is missing, in another market, and without tags")
  func wholeReads() async throws {
    try await ReplayFixture.use { fixture in
      let server = ReplayServer(feed: ShopGenerator(seed: 12, products: 40).feed)
      try server.start()
      defer { server.stop() }
      let id = try await fixture.service.addStore(name: nil, domain: ReplayFixture.address(server))
      #expect(try await round(fixture, server).statuses == [304, 304])
      fixture.time.advance(by: .seconds(86_400))
      #expect(try await round(fixture, server).statuses == [200, 200], "a day is over")
      server.script([.fault(.status(403))])
      #expect(try await round(fixture, server).statuses == [403])
      #expect(try await round(fixture, server).statuses == [200, 200], "it has failed")
      #expect(try await fixture.service.stores().first?.lastError == nil)
      try await fixture.service.updateStore(id: id, country: "GB")
      #expect(try await round(fixture, server).statuses == [200, 200], "another market")
      #expect(try await round(fixture, server).statuses == [304, 304])
      let gone = try #require(server.feed.ids.first)
      try server.update { _ = try $0.remove(gone) }
      #expect(try await round(fixture, server).news.isEmpty)
      let removed = try await round(fixture, server)
      #expect(removed.statuses.allSatisfy { $0 == 200 } && removed.news.map(\.changeType) == [.productRemoved])
      #expect(try await round(fixture, server).statuses == [304, 304])
      let smaller = try #require(try server.feed.ids.first { try server.feed.product($0).variants.count > 1 })
      try server.update { try $0.update(smaller) { $0.variants.removeLast() } }
      for _ in 0..<2 { #expect(try await round(fixture, server).statuses == [200, 200], "a size is missing") }
      server.configure { $0.tagsEntities = false }
      #expect(try await round(fixture, server).statuses == [200, 200], "the shop gives tags no more")
      #expect(try await round(fixture, server).statuses == [200, 200])
      #expect(lists(server).allSatisfy { $0.header("If-None-Match") == nil })
    }
  }

  @Test("Pages that are unchanged but in another currency are read, and the change of currency is news once")
  func otherCurrency() async throws {
    try await ReplayFixture.use { fixture in
      let server = ReplayServer(feed: ShopGenerator(seed: 13, products: 40).feed)
      try server.start()
      defer { server.stop() }
      _ = try await fixture.service.addStore(name: nil, domain: ReplayFixture.address(server), country: "US")
      #expect(try await round(fixture, server).statuses == [304, 304])
      server.configure { $0.currency = "SGD" }
      let other = try await round(fixture, server)
      #expect(other.statuses == [304, 200, 200])
      #expect(other.news.map(\.changeType) == [.currencyChanged])
      #expect(fixture.channel.delivered.map(\.body) == ["prices now in SGD"])
      let quiet = try await round(fixture, server)
      #expect(quiet.statuses == [304, 304] && quiet.news.isEmpty)
    }
  }

  @Test("Last-Modified is sufficient; an unrequested 304 is an invalid response")
  func lastModified() async throws {
    let date = "Wed, 21 Oct 2026 07:28:00 GMT"
    let page = ScriptedServer.Reply.json(
      #"{"products":[{"id":1,"title":"T","handle":"t","variants":[]}]}"#, "Last-Modified: \(date)")
    let end = ScriptedServer.Reply.json(#"{"products":[]}"#, "Last-Modified: \(date)")
    let server = try ScriptedServer([page, end, .status(304), .status(304), .status(304), page, end])
    defer { server.stop() }
    let client = ClientFixture().client
    var request = ShopRequest(domain: server.domain)
    request.validators = try await client.read(request).validators
    #expect(request.validators == [PageValidator](repeating: PageValidator(lastModified: date), count: 2))
    let unchanged = try await client.read(request)
    #expect(unchanged.isUnchanged && unchanged.isComplete && unchanged.products.isEmpty)
    #expect(server.log.suffix(2).allSatisfy { $0.header("If-Modified-Since") == date })
    let plain = ShopRequest(domain: server.domain)
    await #expect(throws: SyncFailure.invalidResponse()) { try await client.read(plain) }
    #expect(try await client.read(request).products.count == 1)
  }
}
