import CofferTesting
import Foundation
import Testing

@testable import WatchifyKit

@Suite("The network below the client", .serialized, .timeLimit(.minutes(15)))
struct ShopifyClientNetworkTests {
  // Requirement 2.30
  @Test("Silence, a stalled body and an endless one are timeouts, or refusals after a refusal")
  func timeouts() async throws {
    let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n{\"products\":[".utf8)
    for reply in [ScriptedServer.Reply.silence, .stall(head)] {
      let fixture = ClientFixture { $0.longestTransfer = .milliseconds(300) }
      let server = try ScriptedServer([reply])
      defer { server.stop() }
      #expect(await fixture.fault(of: server) == .networkTimeout)
      #expect(fixture.gate.restingUntil == nil)
      let shop = try ShopAddress(server.domain)
      fixture.gate.restore([.init(shop: shop, until: fixture.time.now, since: fixture.time.now)])
      #expect(await fixture.fault(of: server) == .resting(until: fixture.time.now + 240, shop: server.domain))
    }
    let idle = ClientFixture { $0.timeout = .seconds(1) }
    let server = try ScriptedServer([.silence])
    defer { server.stop() }
    #expect(await idle.fault(of: server) == .networkTimeout)
  }

  // Requirement 2.29
  @Test("No server at the address")
  func unreachable() async throws {
    let server = try ScriptedServer([])
    let domain = server.domain
    server.stop()
    await server.stopped()
    #expect(await ClientFixture().fault(of: ShopRequest(domain: domain)) == .unreachable)
    await #expect(throws: ShopAddress.Invalid.self) { try await ClientFixture().client.fetchProducts(domain: "a b") }
  }

  @Test("A body beyond the limit ends the transfer, announced or not")
  func largeBodies() async throws {
    let announced = ScriptedServer.Reply.json(String(repeating: " ", count: 5000))
    let silent = ScriptedServer.Reply.raw(
      Array(("HTTP/1.1 200 OK\r\n\r\n" + String(repeating: " ", count: 5000)).utf8))
    for reply in [announced, silent] {
      let server = try ScriptedServer([reply])
      defer { server.stop() }
      #expect(await ClientFixture { $0.largestBody = 4999 }.fault(of: server) == .invalidResponse())
    }
    let server = try ScriptedServer([.page(1...2), .empty])
    defer { server.stop() }
    #expect(await ClientFixture { $0.largestBody = 4999 }.fault(of: server) == nil)
  }

  @Test("Cancelling a read ends its request and lets the next one in")
  func cancellation() async throws {
    let fixture = ClientFixture()
    let server = try ScriptedServer([.silence, .page(1...2), .empty])
    defer { server.stop() }
    let request = ShopRequest(domain: server.domain)
    let task = Task { try await fixture.client.read(request) }
    await server.requests(2)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await finish(task, within: .seconds(20)) }
    #expect(try await fixture.client.read(request).isComplete)

    let cancelled = Task { try await fixture.client.read(request) }
    cancelled.cancel()
    _ = try? await finish(cancelled, within: .seconds(20))
  }

  @Test("robots.txt is requested once a day and honoured; a failure to read it ends one attempt")
  func robots() async throws {
    let fixture = ClientFixture()
    let server = try ScriptedServer([.page(1...2), .empty], robots: .text("User-agent: *\nDisallow: /*.json"))
    defer { server.stop() }
    let request = ShopRequest(domain: server.domain)
    let fault = SyncFailure.refused(reason: "its robots.txt disallows /products.json.")
    #expect(await fixture.fault(of: server) == fault)
    #expect(await fixture.fault(of: server) == fault)
    #expect(try await fixture.client.describe(request).name == nil)
    #expect(server.log.map(\.target) == ["/robots.txt"])
    fixture.time.advance(by: .seconds(86_400))
    #expect(await fixture.fault(of: server) == fault)
    #expect(server.log.count == 2)

    for status in [401, 403, 404] {
      let open = try ScriptedServer([.page(1...2), .empty], robots: .status(status))
      defer { open.stop() }
      #expect(await ClientFixture().fault(of: open) == nil, "\(status)")
    }
    let named = try ScriptedServer(
      [.page(1...2), .empty], robots: .text("User-agent: *\nDisallow: /\nUser-agent: Watchify\nAllow: /"))
    defer { named.stop() }
    #expect(await ClientFixture().fault(of: named) == nil)
    let down = try ScriptedServer([.page(1...2), .empty], robots: .status(500))
    defer { down.stop() }
    #expect(await ClientFixture().fault(of: down) == .serverError(statusCode: 500))
    #expect(down.targets.isEmpty)
    let tired = try ScriptedServer([.page(1...2), .empty], robots: .status(429))
    defer { tired.stop() }
    let resting = ClientFixture()
    #expect(await resting.fault(of: tired) == .resting(until: resting.time.now + 120, shop: tired.domain))
  }

  @Test("The description of a shop: nil parts if missing, an error if it may be served later")
  func describe() async throws {
    let meta = """
      {"id":1,"name":"Davidan","country":"MD","currency":"MDL","myshopify_domain":"d.myshopify.com",\
      "published_products_count":43,"ships_to_countries":["MD"]}
      """
    let server = try ScriptedServer([.json(meta)])
    defer { server.stop() }
    let shop = try await ClientFixture().client.describe(ShopRequest(domain: server.domain))
    #expect(shop.name == "Davidan" && shop.country == "MD" && shop.currency == "MDL")
    #expect(shop.shopifyDomain == "d.myshopify.com" && shop.productCount == 43)
    #expect(server.targets == ["/meta.json"])

    let half = try ScriptedServer([.json(#"{"name":7,"currency":"EUR"}"#)])
    defer { half.stop() }
    let part = try await ClientFixture().client.describe(ShopRequest(domain: half.domain))
    #expect(part.name == nil && part.currency == "EUR")
    let replies: [ScriptedServer.Reply] = [
      .status(404), .html("<p>"), .status(403), .json("[]"), .raw([]),
    ]
    for reply in replies {
      let server = try ScriptedServer([reply])
      defer { server.stop() }
      let nothing = try await ClientFixture().client.describe(ShopRequest(domain: server.domain))
      #expect(nothing.name == nil && nothing.currency == nil)
    }
    let failing = try ScriptedServer([.status(500), .status(500), .status(500)])
    defer { failing.stop() }
    await expectSyncError(.serverError(statusCode: 500)) {
      _ = try await ClientFixture().client.describe(ShopRequest(domain: failing.domain))
    }
    let tired = try ScriptedServer([.status(429)])
    defer { tired.stop() }
    await #expect(throws: SyncFailure.self) {
      try await ClientFixture().client.describe(ShopRequest(domain: tired.domain))
    }
  }
}
