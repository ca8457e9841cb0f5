import CofferTesting
import Foundation
import FoundationNetworking
import ReplayShop
import Testing

@Suite("A replay server")
struct ServerTests {
  /// A shop that signals when a number of requests have arrived.
  private func arrivals(of count: Int) -> (AsyncStream<Void>, ReplayConfiguration) {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
    return (stream, settings { $0.onRequest = { if $0.number == count - 1 { continuation.yield() } } })
  }

  /// Waits for the requests.
  private func first(of stream: AsyncStream<Void>) async throws {
    let coming = Task {
      for await _ in stream { return true }
      return false
    }
    try #require(try await finish(coming, within: .seconds(30)))
  }

  @Test("is read by FoundationNetworking, which follows, unpacks and times out")
  func urlSession() async throws {
    let shop = ShopGenerator(products: 300, variants: 2)
    try await withServer(shop.feed) { server, port in
      let settings = URLSessionConfiguration.ephemeral
      settings.timeoutIntervalForRequest = 20
      let session = URLSession(configuration: settings)
      defer { session.invalidateAndCancel() }
      let url = try #require(URL(string: "/products.json?limit=250", relativeTo: server.url))
      let (body, response) = try await session.data(from: url)
      let http = try #require(response as? HTTPURLResponse)
      #expect(http.statusCode == 200)
      #expect(http.value(forHTTPHeaderField: "Set-Cookie") == "cart_currency=USD; path=/")
      #expect(try Listed(body).products.count == 250)
      #expect(server.requests.first?.header("accept-encoding")?.contains("gzip") == true)

      server.script([.fault(.redirect(301, to: "http://localhost:\(port)/products.json?limit=2"))])
      let (moved, after) = try await session.data(from: url)
      #expect(after.url?.host == "localhost")
      #expect(try Listed(moved).products.count == 2)

      for fault in [ReplayFault.reset, .cut(after: 50), .resetInBody(after: 50)] {
        // A separate session, because curl retries requests that fail on a reused connection.
        let fresh = URLSession(configuration: settings)
        defer { fresh.invalidateAndCancel() }
        server.script([.fault(fault)])
        await #expect(throws: URLError.self) { _ = try await fresh.data(from: url) }
      }
    }
  }

  @Test("logs its requests with their dates")
  func log() async throws {
    let time = Date(timeIntervalSince1970: 1_800_000_000)
    try await withServer(ShopGenerator(products: 3).feed, settings { $0.now = { time } }) { server, port in
      server.script([.fault(.status(429)), .fault(.reset)])
      _ = try await ask(port, "/products.json?limit=2&x=%41", headers: ["User-Agent: test/1", "X-A: 1"])
      _ = try await ask(port, "/products.json")
      _ = try await ask(port, "/nothing")
      let requests = server.requests
      #expect(requests.map(\.target) == ["/products.json?limit=2&x=%41", "/products.json", "/nothing"])
      #expect(requests.map(\.status) == [429, nil, 404])
      #expect(requests.map(\.number) == [0, 1, 2] && requests.map(\.inFlight) == [1, 1, 1])
      #expect(requests.allSatisfy { $0.time == time && $0.method == "GET" })
      #expect(requests[0].header("user-agent") == "test/1" && requests[0].header("X-A") == "1")
      server.forgetRequests()
      #expect(server.requests == [] && server.maximumInFlight == 0)
    }
  }

  @Test("counts concurrent requests, and not consecutive ones")
  func inFlight() async throws {
    let (arrivals, configuration) = arrivals(of: 42)
    try await withServer(ShopGenerator(products: 3).feed, configuration) { server, port in
      for _ in 0..<40 { _ = try await ask(port, "/products.json") }
      #expect(server.maximumInFlight == 1)
      // Both are held until the server stops, so they certainly overlap.
      server.script([.fault(.stalled()), .fault(.stalled())])
      let clients = (0..<2).map { _ in Task { try await ask(port, "/products.json", patience: .seconds(30)) } }
      try await first(of: arrivals)
      #expect(server.maximumInFlight == 2)
      #expect(server.requests.map(\.inFlight).suffix(2) == [1, 2])
      server.stop()
      for client in clients { _ = try await client.value }
    }
  }

  @Test("stops while requests are stalled, slow or late")
  func stopInFlight() async throws {
    let (arrivals, configuration) = arrivals(of: 3)
    let server = ReplayServer(feed: ShopGenerator(products: 3).feed, configuration: configuration)
    let port = try server.start()
    server.script([
      .fault(.stalled(after: 10)), .fault(.slow(bytes: 1, pause: .seconds(3_600))), .fault(.late(.seconds(3_600))),
    ])
    let clients = (0..<3).map { _ in Task { try await ask(port, "/products.json", patience: .seconds(120)) } }
    defer { server.stop() }
    try await first(of: arrivals)
    server.stop()
    for client in clients {
      let answer = try await client.value
      #expect(answer.ending != .silent)
    }
    #expect(server.port == nil && server.url == nil)
    await #expect(throws: SocketFailure.self) { try await ask(port, "/products.json") }
    server.stop()
  }

  @Test("restarts after an outage, with its log and working delays")
  func restart() async throws {
    try await withServer { server, port in
      _ = try await ask(port, "/products.json")
      server.stop()
      let next = try server.start()
      let source = try #require(try await ask(next, "/products.json").products().first?.images.first?.src)
      #expect(source.hasPrefix("http://127.0.0.1:\(next)/cdn/"))
      server.script([.fault(.slow(bytes: 4_000, pause: .milliseconds(1))), .fault(.late(.milliseconds(1)))])
      #expect(try await ask(next, "/products.json").products().count == 10)
      #expect(try await ask(next, "/products.json").products().count == 10)
      #expect(server.requests.count == 4)
    }
  }

  @Test("can run beside others, each with a separate shop, log and port")
  func twoServers() async throws {
    try await withServer(ShopGenerator(products: 3).feed) { one, port in
      try await withServer(ShopGenerator(products: 4).feed) { two, other in
        #expect(port != other && one.port == port && two.port == other)
        two.script([.fault(.status(500))])
        let answer = try await ask(port, "/products.json")
        #expect(try answer.products().count == 3)
        #expect(try await ask(other, "/products.json").status == 500)
        #expect(one.requests.count == 1 && two.requests.count == 1)
        let third = ReplayServer(feed: ShopFeed(products: []))
        #expect(throws: ReplayError.cannotListen(port: port)) { try third.start(port: port) }
        #expect(throws: ReplayError.isRunning) { try one.start() }
      }
    }
  }

  @Test("survives hostile requests")
  func hostile() async throws {
    try await withServer(ShopGenerator(products: 3).feed) { server, port in
      let long = String(repeating: "a", count: 100_000)
      #expect([414, 431, nil].contains(try await ask(port, "/\(long)").status))
      #expect([413, 414, 431, nil].contains(try await ask(port, "/", headers: ["X: \(long)"]).status))
      for method in ["POST", "PUT", "DELETE", "PATCH", "NONSENSE"] {
        let answer = try await ask(port, "/products.json", method: method, body: "x=1")
        #expect(answer.status == 405 && answer.header("Allow") == "GET, HEAD")
      }
      let head = try await ask(port, "/products.json", method: "HEAD")
      #expect(head.status == 200 && head.body == [] && (head.length ?? 0) > 100)
      for target in [
        "/../../etc/passwd", "/%00", "/%2e%2e/", "/cdn/%3Cscript%3E.svg", "/?<script>", "//", "/_replay/", "*",
      ] {
        let answer = try await ask(port, target)
        #expect(!answer.text.contains("<script>") && !answer.text.contains("root:"))
      }
      _ = try await exchange(port, "garbage\r\n\r\n", patience: .seconds(2))
      _ = try await exchange(port, "GET / HTTP/9.9\r\nHost: x\r\nConnection: close\r\n\r\n", patience: .seconds(2))
      _ = try await exchange(port, "\0\u{1}\u{2}\r\n\r\n", patience: .seconds(1))
      #expect(try await ask(port, "/products.json").products().count == 3)
    }
  }

  @Test("is driven by its control routes, which are not logged")
  func controls() async throws {
    let feed = ReplayTimeline.demoShop.feed
    try await withServer(feed, timeline: .demo) { server, port in
      for step in ReplayTimeline.demo.steps {
        let answer = try await ask(port, "/_replay/advance", method: "POST")
        #expect(try JSONDecoder().decode([String: String].self, from: Data(answer.body)) == ["step": step.name])
      }
      #expect(try await ask(port, "/_replay/advance", method: "POST").text == #"{"step":null}"#)
      #expect(server.stepsLeft == [] && server.requests == [])
      #expect(try await ask(port, "/_replay/script", method: "POST", body: "429\nnormal\n").text == #"{"waiting":"2"}"#)
      #expect(try await ask(port, "/products.json").status == 429)
      #expect(try await ask(port, "/_replay/mode", method: "POST", body: "402").status == 200)
      #expect(try await ask(port, "/").status == 402)
      #expect(try await ask(port, "/_replay/mode", method: "POST", body: "normal").status == 200)
      #expect(try await ask(port, "/_replay/currency", method: "POST", body: "GBP").text == #"{"currency":"GBP"}"#)
      #expect(try await ask(port, "/products.json").header("Set-Cookie") == "cart_currency=GBP; path=/")
      let bad = try await ask(port, "/_replay/script", method: "POST", body: "429\nexplode")
      #expect(bad.status == 400 && bad.text.contains("explode") && server.scriptLeft == [])
      #expect(
        try await ask(port, "/_replay/feed", method: "POST", body: FeedTests.recording).text == #"{"products":"2"}"#)
      #expect(try await ask(port, "/_replay/feed", method: "POST", body: "[]").status == 400)
      #expect(try await ask(port, "/products.json").products().map(\.id) == [1, 2])
      let log = try await ask(port, "/_replay/log")
      let object = try JSONSerialization.jsonObject(with: Data(log.body)) as? [String: Any]
      #expect((object?["requests"] as? [Any])?.count == 4 && object?["maximumInFlight"] as? Int == 1)
      #expect(try await ask(port, "/_replay/log", method: "DELETE").status == 200)
      #expect(server.requests == [])
    }
  }
}
