import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

/// Contents of a shop must not direct requests or private headers to other hosts.
@Suite(.serialized, .timeLimit(.minutes(15))) struct ForeignHostTests {
  private static let secret = StoreHeader(name: "Signature", value: "secret-7")

  @Test(
    "myshopify_domain is only followed to myshopify.com",
    arguments: [
      "127.0.0.1:PORT", "localhost:PORT", "http://127.0.0.1:PORT/x", "evil.example", "myshopify.com",
      "a.b.myshopify.com", "a.myshopify.com.evil.example", "a.myshopify.com:8443", "a@127.0.0.1:PORT",
      "127.0.0.1:PORT#.myshopify.com", "[::1]:PORT", "10.0.0.1", "a.myshopify.com/../",
    ])
  func stranger(domain: String) async throws {
    let stranger = try ScriptedServer([.page(1...1), .empty])
    let named = domain.replacingOccurrences(of: "PORT", with: "\(stranger.port)")
    let front = try ScriptedServer([.json("{\"name\":\"Front\",\"myshopify_domain\":\"\(named)\"}"), .status(404)])
    defer {
      stranger.stop()
      front.stop()
    }
    try await ReplayFixture.use { fixture in
      await expectSyncError(.notShopify) {
        _ = try await fixture.service.addStore(name: nil, domain: front.domain, headers: [Self.secret])
      }
      let stores = try await fixture.service.stores()
      #expect(stores.isEmpty)
    }
    #expect(stranger.log.isEmpty && front.targets.count == 2)
  }

  @Test("A real Shopify domain is accepted")
  func inside() {
    let good = Data(#"{"myshopify_domain":"A-1.myshopify.com","country":"\u001b[31m","currency":"usd"}"#.utf8)
    let shop = ShopAnswers.description(good)
    #expect(shop.shopifyDomain == "a-1.myshopify.com" && shop.country == nil && shop.currency == "USD")
  }

  @Test("Private headers are sent only to the host that they were given for")
  func headers() async throws {
    try await Workshop.use { workshop in
      workshop.shop.describe(ShopDescription(name: "Front", shopifyDomain: "front.myshopify.com"))
      workshop.shop.list(onlyAt: "front.myshopify.com")
      workshop.shop.serve([product(1)])
      let id = try await workshop.service.addStore(name: nil, domain: "front.example", headers: [Self.secret])
      let asked = workshop.shop.requests.map { "\($0.domain) \($0.headers.count)" }
      #expect(asked == ["front.example 1", "front.example 1", "front.myshopify.com 0"])
      workshop.clock.turn(61)
      try await workshop.service.sync(id)
      #expect(workshop.shop.requests.last?.headers.isEmpty == true)
    }
  }

  @Test("Redirects to other hosts, public or private, are not followed, and no header is sent there")
  func redirects() async throws {
    let other = try ScriptedServer([.page(1...1), .empty])
    defer { other.stop() }
    let targets = [
      "http://127.0.0.1:\(other.port)/products.json", "//localhost:\(other.port)/", "http://169.254.169.254/latest/",
      "http://[::1]:\(other.port)/", "http://2130706433:\(other.port)/", "https://evil.example/products.json",
      "http://user@127.0.0.1:\(other.port)/", "file:///etc/passwd", "gopher://127.0.0.1:\(other.port)/",
    ]
    for target in targets {
      let shop = try ScriptedServer([.status(302, "Location: \(target)")])
      defer { shop.stop() }
      let request = ShopRequest(domain: shop.domain, headers: [("Signature", "secret-7")])
      let isPublic = target.contains("evil.example")
      let expected = isPublic ? SyncFailure.moved(to: "evil.example") : .notShopify
      #expect(await ClientFixture().fault(of: request) == expected, "\(target)")
      #expect(shop.log.last?.header("signature") == "secret-7" && shop.targets.count == 1)
      // robots.txt is requested without it.
      #expect(shop.log.first?.header("signature") == nil)
    }
    #expect(other.log.isEmpty)
  }
}
