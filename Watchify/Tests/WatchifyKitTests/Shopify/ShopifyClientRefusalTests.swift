import Foundation
import Testing

@testable import WatchifyKit

@Suite("Responses other than products", .serialized, .timeLimit(.minutes(15)))
struct ShopifyClientRefusalTests {
  private typealias Reply = ScriptedServer.Reply

  /// Returns the errors for a first response and for one in the middle of a listing.
  private func expect(
    _ reply: ScriptedServer.Reply, is first: SyncFailure, inTheMiddle later: SyncFailure? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    for (script, expected) in [([reply], first), ([.page(1...3), reply], later ?? first)] {
      let server = try ScriptedServer(script)
      defer { server.stop() }
      let fault = await ClientFixture().fault(of: server)
      #expect(fault == expected, "page \(script.count)", sourceLocation: sourceLocation)
    }
  }

  @Test("Refusals")
  func refused() async throws {
    try await expect(.status(403), is: .refused(reason: "it responds with HTTP 403."))
    try await expect(.status(430, "Retry-After: 5"), is: .refused(reason: "it responds with HTTP 430."))
    let challenge = SyncFailure.refused(reason: "it responds with a page that checks for humans.")
    let page = "<html><title>Just a moment...</title><script src=\"/cdn-cgi/challenge-platform/x\"></script>"
    try await expect(.html(page), is: challenge)
    try await expect(.html(page, status: 503), is: challenge)
    try await expect(.html("<p>Wait</p>", "cf-mitigated: challenge"), is: challenge)
  }

  @Test("Closed by a password")
  func password() async throws {
    try await expect(.status(302, "Location: /password"), is: .passwordProtected)
    try await expect(.status(302, "Location: /en-gb/password?x=1"), is: .passwordProtected)
    try await expect(.status(401, "WWW-Authenticate: Basic realm=\"x\""), is: .passwordProtected)
    try await expect(.html("<form method=\"post\" action=\"/password\">"), is: .passwordProtected)
  }

  @Test("Disabled shops", arguments: [402, 423])
  func closed(_ status: Int) async throws {
    try await expect(.status(status), is: .closed(statusCode: status))
  }

  @Test("No Shopify: 404, HTML, other JSON, another site; in the middle these are faults")
  func notShopify() async throws {
    try await expect(.status(404), is: .notShopify, inTheMiddle: .invalidResponse())
    try await expect(.html("<!doctype html><p>Hello"), is: .notShopify, inTheMiddle: .invalidResponse())
    try await expect(.json(#"{"hello":1}"#), is: .notShopify, inTheMiddle: .invalidResponse())
    try await expect(
      .status(301, "Location: http://127.0.0.1:1/"), is: .notShopify, inTheMiddle: .invalidResponse())
  }

  @Test("Another site is named, and not requested")
  func moved() async throws {
    try await expect(.status(301, "Location: https://www.Elsewhere.example/x"), is: .moved(to: "elsewhere.example"))
  }

  @Test("Faults")
  func invalid() async throws {
    try await expect(.json(#"{"products":[{"id":1"#), is: .invalidResponse())
    try await expect(.json(#"{"products":[}"#), is: .invalidResponse())
    try await expect(.json(""), is: .invalidResponse())
    try await expect(.status(418), is: .invalidResponse())
    try await expect(.status(304), is: .invalidResponse())
    try await expect(
      .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{\"products\"".utf8)), is: .invalidResponse())
    try await expect(.raw([]), is: .invalidResponse())
    try await expect(.raw(Array("no http at all\r\n\r\n".utf8)), is: .invalidResponse())
  }

  @Test("A redirect within the site is followed and its host cached; loops end; other sites are never requested")
  func redirects() async throws {
    let other = try ScriptedServer([.page(1...1), .empty])
    defer { other.stop() }
    let away = try ScriptedServer([.status(302, "Location: http://\(other.domain)/products.json")])
    defer { away.stop() }
    #expect(await ClientFixture().fault(of: away) == .notShopify)
    #expect(other.log.isEmpty)

    let server = try ScriptedServer([.status(301, "Location: /en/products.json?page=1"), .page(1...2), .empty])
    defer { server.stop() }
    let reading = try await ClientFixture().client.read(ShopRequest(domain: server.domain))
    #expect(reading.isComplete && reading.products.count == 2)
    #expect(
      server.targets == ["/products.json?limit=3&page=1", "/en/products.json?page=1", "/products.json?limit=3&page=2"])

    let loop = try ScriptedServer([.status(302, "Location: /products.json")])
    defer { loop.stop() }
    #expect(await ClientFixture().fault(of: loop) == .invalidResponse())
    #expect(loop.targets.count == 6)
    let nowhere = try ScriptedServer([.status(302)])
    defer { nowhere.stop() }
    #expect(await ClientFixture().fault(of: nowhere) == .invalidResponse())
  }

  // Requirement 2.31
  @Test("Server errors are retried after 3 and 10 seconds")
  func serverErrors() async throws {
    let fixture = ClientFixture()
    let server = try ScriptedServer([.status(500, "shopify-complexity-score: 1"), .status(502), .page(1...2), .empty])
    defer { server.stop() }
    let reading = try await fixture.client.read(ShopRequest(domain: server.domain))
    #expect(reading.isComplete && reading.products.count == 2)
    #expect(fixture.time.slept == [1, 3, 10, 1].map { .seconds($0) })

    try await expect(.status(503), is: .serverError(statusCode: 503))
    let down = try ScriptedServer([.page(1...3), .status(500), .status(500), .status(504), .page(4...4)])
    defer { down.stop() }
    #expect(await ClientFixture().fault(of: down) == .serverError(statusCode: 504))
    #expect(down.targets.count == 4)
  }

  @Test("Too many requests, from a shop: it is not requested until its pause ends; others are")
  func tooManyOfOne() async throws {
    let fixture = ClientFixture()
    let server = try ScriptedServer([.status(429, "Retry-After: 99999999999", "X-ShopId: 1", "Powered-By: Shopify")])
    let other = try ScriptedServer([.page(1...1), .empty])
    defer {
      server.stop()
      other.stop()
    }
    let rest = SyncFailure.resting(until: fixture.time.now + 1 + 3600, shop: server.domain)
    #expect(await fixture.fault(of: server) == rest)
    #expect(await fixture.fault(of: server) == rest && server.targets.count == 1)
    #expect(fixture.gate.restingUntil == nil)
    #expect(try await fixture.client.read(ShopRequest(domain: other.domain)).isComplete)
    #expect(try await fixture.client.describe(ShopRequest(domain: other.domain)).name == nil)
    #expect(fixture.gate.refusals(of: try ShopAddress(server.domain)) == 1, "pages of other shops reset nothing")
  }

  @Test("Too many requests, from Shopify: no shop is requested until the pause ends, on any page")
  func tooMany() async throws {
    let fixture = ClientFixture { $0.isShopify = { _, _ in true } }
    let server = try ScriptedServer([.page(1...3), .page(4...6), .status(429, "Retry-After: 60"), .page(7...7), .empty])
    let other = try ScriptedServer([.page(1...1), .empty])
    defer {
      server.stop()
      other.stop()
    }
    let until = fixture.time.now + 3 + 120
    #expect(await fixture.fault(of: server) == .resting(until: until))
    #expect(fixture.gate.restingUntil == until && fixture.gate.refusals(of: nil) == 1)
    #expect(await fixture.fault(of: other) == .resting(until: until))
    await #expect(throws: SyncFailure.resting(until: until)) {
      try await fixture.client.describe(ShopRequest(domain: other.domain))
    }
    // Another client with the same gate is paused as well.
    await #expect(throws: SyncFailure.resting(until: until)) {
      try await ShopifyClient(gate: fixture.gate).fetchProducts(domain: other.domain)
    }
    #expect(other.log.isEmpty && server.targets.count == 3)
    fixture.time.advance(by: .seconds(120))
    #expect(try await fixture.client.read(ShopRequest(domain: other.domain)).isComplete)
    #expect(fixture.gate.refusals(of: nil) == 0)
  }

  @Test("The pause honours Retry-After, in seconds or as a date, and doubles")
  func retryAfter() async throws {
    func rest(_ headers: String...) async throws -> TimeInterval {
      let fixture = ClientFixture()
      let server = try ScriptedServer([.http(status: 429, headers: headers, body: "local_rate_limited")])
      defer { server.stop() }
      guard case .invalidResponse(.resting(let until, _)) = await fixture.fault(of: server) else { return -1 }
      return until.timeIntervalSince(fixture.time.now)
    }
    #expect(try await rest() == 120)
    #expect(try await rest("Retry-After: 60") == 120)
    #expect(try await rest("Retry-After: 600") == 600)
    #expect(try await rest("Retry-After: nonsense") == 120)
    // The clock is one second after 08:00, the delay after robots.txt.
    #expect(try await rest("Retry-After: Fri, 15 Jan 2027 08:10:01 GMT") == 600)
    #expect(try await rest("Retry-After: Fri, 15 Jan 2021 08:10:01 GMT") == 120)

    let fixture = ClientFixture()
    let server = try ScriptedServer([.status(429)])
    defer { server.stop() }
    for expected in [120, 240, 480, 960, 1800, 1800] as [TimeInterval] {
      guard case .invalidResponse(.resting(let until, _)) = await fixture.fault(of: server) else {
        Issue.record("there was no rest")
        break
      }
      #expect(until.timeIntervalSince(fixture.time.now) == expected)
      fixture.time.advance(by: .seconds(expected))
    }
  }

  @Test("A reset after a refusal is another refusal")
  func resetAfterRefusal() async throws {
    let fixture = ClientFixture()
    let server = try ScriptedServer([.status(429), .raw([])])
    defer { server.stop() }
    #expect(await fixture.fault(of: server) == .resting(until: fixture.time.now + 120, shop: server.domain))
    fixture.time.advance(by: .seconds(120))
    #expect(await fixture.fault(of: server) == .resting(until: fixture.time.now + 240, shop: server.domain))
    #expect(fixture.gate.refusals(of: try ShopAddress(server.domain)) == 2)
  }
}
