import CofferCore
import Foundation
import Testing

@testable import WatchifyKit

@Suite("Walking through a listing", .serialized, .timeLimit(.minutes(15)))
struct ShopifyClientListingTests {
  /// Reads a shop that responds with `script`; returns the reading and the requests.
  private func read(
    _ script: [ScriptedServer.Reply], knownIDs: Set<Int64> = [], country: String? = nil,
    fixture: ClientFixture = ClientFixture()
  ) async throws -> (reading: ShopReading, targets: [String]) {
    let server = try ScriptedServer(script)
    defer { server.stop() }
    let reading = try await fixture.client.read(
      ShopRequest(domain: server.domain, country: country, knownIDs: knownIDs))
    return (reading, server.targets)
  }

  // Requirement 2.20
  @Test("Pages until an empty one; short pages in the middle end nothing")
  func pages() async throws {
    let fixture = ClientFixture()
    let (reading, targets) = try await read(
      [.page(1...3), .page(4...4), .page(5...6), .empty], country: "US", fixture: fixture)
    #expect(reading.products.map(\.id) == [1, 2, 3, 4, 5, 6])
    #expect(reading.isComplete && reading.incompleteReason == nil)
    #expect(reading.pages == 4 && reading.bytes > 500 && reading.broken == 0)
    #expect(reading.host?.hasPrefix("127.0.0.1:") == true && reading.currency == nil)
    #expect(targets == (1...4).map { "/products.json?limit=3&page=\($0)&country=US" })
    #expect(fixture.time.slept == Array(repeating: .seconds(1), count: 4))
  }

  @Test("An empty page after a full one may be a hole: one more page is requested")
  func hole() async throws {
    let (reading, targets) = try await read([.page(1...3), .empty, .page(4...6), .empty, .empty])
    #expect(reading.products.count == 6 && reading.isComplete)
    #expect(targets.count == 5)
    let (end, asked) = try await read([.page(1...3), .empty, .empty, .page(4...6)])
    #expect(end.products.count == 3 && end.isComplete)
    #expect(asked.count == 3)
  }

  @Test("After an empty page, further pages are requested while known products are missing")
  func missing() async throws {
    let (reading, targets) = try await read([.page(1...2), .empty, .page(7...8), .empty], knownIDs: [1, 7])
    #expect(reading.products.map(\.id) == [1, 2, 7, 8] && reading.isComplete)
    #expect(targets.count == 4)
    let (all, asked) = try await read([.page(1...2), .empty, .page(7...8)], knownIDs: [1, 2])
    #expect(all.isComplete && asked.count == 2)
    let (gone, last) = try await read([.page(1...2), .empty, .empty], knownIDs: [1, 9])
    #expect(gone.isComplete && last.count == 4)
  }

  @Test("A hole of two pages is found if products are missing after it, and the list counts as incomplete")
  func wideHole() async throws {
    let known = Set<Int64>(1...15)
    let (reading, _) = try await read(
      [.page(1...3), .empty, .empty, .page(10...12), .empty, .empty, .empty], knownIDs: known)
    #expect(reading.products.map(\.id) == [1, 2, 3, 10, 11, 12] && !reading.isComplete)
    #expect(reading.incompleteReason == "A page in the middle of the store's list was empty.")
    // However many products are missing, only a few more pages are requested.
    let (_, asked) = try await read([.page(1...3), .empty], knownIDs: Set(1...10_000))
    #expect(asked.count == 7)
  }

  @Test("Errors instead of a page are no limit unless their message says so")
  func errorsOnPageTwo() async throws {
    for (words, status) in [
      ("Something went wrong", 200), ("Throttled: rate limit exceeded", 200), ("Bad", 400),
      ("Page rate limit exceeded", 400),
    ] {
      let error = ScriptedServer.Reply.http(status: status, headers: [], body: "{\"errors\":\"\(words).\"}")
      let reason = "The store answered page 2 of its list with an error: \(words)."
      await #expect(throws: SyncFailure.incomplete(reason: reason)) { try await read([.page(1...3), error]) }
    }
  }

  @Test("An empty shop is never complete")
  func empty() async throws {
    let (reading, targets) = try await read([.empty])
    #expect(reading.products.isEmpty && !reading.isComplete && targets.count == 1)
    #expect(reading.incompleteReason == "The store lists no products.")
    let (known, asked) = try await read([.empty], knownIDs: [1])
    #expect(!known.isComplete && asked.count == 3)
  }

  @Test("A page without new products ends the walk as incomplete")
  func repeats() async throws {
    let (reading, targets) = try await read([.page(1...3), .page(1...3), .page(4...6), .empty])
    #expect(reading.products.count == 3 && !reading.isComplete && targets.count == 2)
    #expect(reading.incompleteReason == "The store repeats the same products on page 2.")
  }

  @Test("A list that shifts during the walk returns each product once")
  func shifting() async throws {
    let (reading, _) = try await read([.page(1...3), .page(3...5), .page([5, 6]), .empty])
    #expect(reading.products.map(\.id) == [1, 2, 3, 4, 5, 6] && reading.isComplete)
  }

  @Test(
    "The window of 25,000 products ends the walk as limited, with status 400 and 200",
    arguments: [400, 200])
  func window(_ status: Int) async throws {
    let words = #"{"errors":"Page * Limit exceeds the 25000 limit."}"#
    let (reading, targets) = try await read(
      [.page(1...3), .page(4...6), .http(status: status, headers: [], body: words)],
      fixture: ClientFixture { $0.window = 6 })
    #expect(reading.products.count == 6 && !reading.isComplete && targets.count == 3)
    #expect(
      reading.incompleteReason
        == "The store serves only its first 6 products: Page * Limit exceeds the 25000 limit.")
  }

  @Test("A 400 without a message is the window at its end, and a fault on any earlier page")
  func badRequest() async throws {
    let script: [ScriptedServer.Reply] = [.page(1...3), .html("<p>Bad</p>", status: 400)]
    let (reading, _) = try await read(script, fixture: ClientFixture { $0.window = 3 })
    let reason = "The store answered page 2 of its list with an error."
    await #expect(throws: SyncFailure.incomplete(reason: reason)) { try await read(script) }
    await #expect(throws: SyncFailure.incomplete(reason: reason)) { try await read([.page(1...3), .status(400)]) }
    #expect(!reading.isComplete && reading.incompleteReason == "The store serves only its first 3 products.")
    await #expect(throws: SyncFailure.invalidResponse()) { try await read([.status(400)]) }
    await #expect(throws: SyncFailure.invalidResponse()) { try await read([.json(#"{"errors":"no"}"#)]) }
  }

  @Test("At most pageCap pages")
  func cap() async throws {
    let script = (0..<9).map { ScriptedServer.Reply.page(($0 * 3 + 1)...($0 * 3 + 3)) }
    let (reading, targets) = try await read(script, fixture: ClientFixture(pageCap: 4))
    #expect(reading.products.count == 12 && targets.count == 4 && !reading.isComplete)
    #expect(reading.incompleteReason == "The store has more than 4 pages of products.")
  }

  @Test("The currency is that of the last cookie; after a change, later pages are dropped")
  func currency() async throws {
    let twice = ScriptedServer.Reply.json(
      #"{"products":[{"id":1,"title":"T","handle":"t","variants":[]}]}"#,
      "Set-Cookie: cart_currency=USD; path=/; expires=Wed, 21 Oct 2026 07:28:00 GMT",
      "Set-Cookie: cart_currency=gbp; path=/; SameSite=Lax", "Set-Cookie: not_cart_currency=EUR")
    #expect(try await read([twice, .empty]).reading.currency == "GBP")
    let steady = try await read([.page(1...3, currency: "USD"), .page(4...5), .empty]).reading
    #expect(steady.currency == "USD" && steady.isComplete)
    let (mixed, targets) = try await read(
      [.page(1...3, currency: "USD"), .page(4...6, currency: "SGD"), .page(7...9, currency: "SGD"), .empty])
    #expect(mixed.products.map(\.id) == [1, 2, 3] && mixed.currency == "USD" && !mixed.isComplete)
    #expect(mixed.incompleteReason == "The store changed its currency from USD to SGD while it was read.")
    #expect(targets.count == 2)
  }

  @Test("Undecodable entries are omitted, counted and listed as unknown")
  func broken() async throws {
    let variants = #"[{"id":1,"price":"1","available":true},{"id":2,"price":"x","available":true}]"#
    let whole = #"{"id":1,"title":"T","handle":"t","variants":\#(variants)}"#
    let variant = try await read([.json("{\"products\":[\(whole)]}"), .empty]).reading
    #expect(variant.broken == 1 && variant.isComplete)
    let product = try await read([.json("{\"products\":[\(whole),{\"id\":2}]}"), .empty]).reading
    #expect(product.broken == 2 && product.isComplete && product.products.count == 1 && product.nameless == 0)
    #expect(product.unreadable == [UnreadableEntry(product: 1, variant: 2), UnreadableEntry(product: 2)])
    let nameless = try await read([.json("{\"products\":[\(whole),{\"id\":\"x\"}]}"), .empty]).reading
    #expect(nameless.nameless == 1 && nameless.isComplete && nameless.unreadable.count == 1)
    let nothing = try await read([.json(#"{"products":[{"id":2}]}"#), .empty]).reading
    #expect(!nothing.isComplete && nothing.incompleteReason == "No product of the store could be read.")
  }

  @Test("Progress is reported after each page; additional headers are sent, but none with a line break")
  func requestParts() async throws {
    let server = try ScriptedServer([.page(1...3), .page(4...4), .empty])
    defer { server.stop() }
    let told = Locked<[Int]>([])
    let headers = [("Signature-Agent", "\"https://shopify.com\""), ("X-Evil", "a\r\nCookie: b"), ("X Bad", "c")]
    _ = try await ClientFixture().client.read(
      ShopRequest(
        domain: server.domain, headers: headers,
        progress: { products, page in told.withLock { $0 += [products, page] } }))
    #expect(told.withLock { $0 } == [3, 1, 4, 2, 4, 3])
    for request in server.log {
      #expect(request.header("User-Agent") == "Watchify/0.1 (part of Coffer, a persistence library for Swift)")
      #expect(request.header("Accept") == "application/json")
      #expect(request.header("Cookie") == nil && request.header("X-Evil") == nil)
      #expect(request.header("If-None-Match") == nil)
      let isListing = request.target.hasPrefix("/products.json")
      #expect(request.header("Signature-Agent") == (isListing ? "\"https://shopify.com\"" : nil))
    }
  }

  // Requirement 2.20
  @Test("A large page, decoded on a background thread, and fetchProducts(domain:)")
  func largePage() async throws {
    let server = try ScriptedServer([.page(1...3000), .empty])
    defer { server.stop() }
    let products = try await ClientFixture(pageSize: 5000).client.fetchProducts(domain: server.domain)
    #expect(products.count == 3000 && products.last?.variants.first?.price == Price("3000.5"))
  }
}

@Suite("Reading responses of real shops", .enabled(if: CapturedShops.folder != nil), .timeLimit(.minutes(15)))
struct CapturedListingTests {
  @Test("All captures as pages of one shop")
  func all() async throws {
    let bodies = try CapturedShops.pages.map { try String(decoding: Data(contentsOf: $0), as: UTF8.self) }
      .filter { $0.utf8.count > 100 }
    let server = try ScriptedServer(bodies.map { .json($0) } + [.empty])
    defer { server.stop() }
    let ids = try bodies.flatMap { try FeedDecoder.decode(Data($0.utf8)).products.map(\.id) }
    #expect(Set(ids).count > 100)
    // Captures of one shop at two times have the same products, so the walk ends at a page without new products.
    let reading = try await ClientFixture().client.read(ShopRequest(domain: server.domain))
    #expect(!reading.products.isEmpty && reading.broken == 0)
    #expect(Set(reading.products.map(\.id)).count == reading.products.count)
  }
}
