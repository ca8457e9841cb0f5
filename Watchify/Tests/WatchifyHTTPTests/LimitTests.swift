import Foundation
import Testing
import WatchifyHTTP
import WatchifyTestSupport

@Suite("A server survives")
struct LimitTests {
  private func limits(_ change: (inout HTTPServer.Limits) -> Void) -> HTTPServer.Limits {
    var limits = HTTPServer.Limits()
    change(&limits)
    return limits
  }

  @Test("bodies beyond the limit, announced or not")
  func bodies() async throws {
    try await withServer(limits: limits { $0.bodyBytes = 100_000 }, describe) { _, port in
      // Refused before a byte of the gigabyte is sent.
      let announced = try await Client.exchange(port, request("POST /", ["Content-Length: 1073741824"]))
      #expect(announced.status == 413 && announced.field("Connection") == "close")
      let expected = try await Client.exchange(
        port, request("POST /", ["Content-Length: 100001", "Expect: 100-continue"]))
      #expect(expected.status == 413)
      let chunk = "C350\r\n" + String(repeating: "x", count: 50_000) + "\r\n"
      let chunked = request("POST /", ["Transfer-Encoding: chunked"])
      let fits = try await Client.exchange(port, chunked + chunk + chunk + "0\r\n\r\n")
      #expect(fits.status == 200 && fits.payload.utf8.count == 100_000 + #"POST [] [] "#.utf8.count)
      #expect(try await Client.exchange(port, chunked + chunk + chunk + "1\r\nx\r\n0\r\n\r\n").status == 413)
      // A client that never ends is cut off.
      let endless = try await onThread {
        let client = try Client(port)
        client.send(chunked)
        return (0..<1_000).contains { _ in client.send(chunk) < chunk.utf8.count }
      }
      #expect(endless)
      #expect(try await Client.exchange(port, request("GET /")).status == 200)
    }
  }

  @Test("heads beyond the limit")
  func heads() async throws {
    try await withServer(describe) { _, port in
      let long = String(repeating: "a", count: 64 << 10)
      #expect(try await Client.exchange(port, request("GET /\(long)")).status == 414)
      let field = try await Client.exchange(port, request("GET /", ["X: \(long)"])).status
      #expect([413, 431].contains(field))
      let many = try await Client.exchange(port, request("GET /", (0..<10_000).map { "X\($0): 1" })).status
      #expect([413, 431].contains(many))
      #expect(try await Client.exchange(port, request("GET /", (0..<100).map { "X\($0): 1" })).status == 200)
    }
  }

  @Test("queries of any number of items", arguments: [100, 300, 2_000])
  func queries(count: Int) async throws {
    try await withServer(describe) { _, port in
      for item in ["a=b&", "&", "a&", "=", "%00=&"] {
        let target = "GET /?" + String(repeating: item, count: count)
        let answer = try await Client.exchange(port, request(target))
        #expect(answer.status == 200, "\(count) times \(item)")
      }
    }
  }

  @Test(
    "malformed requests",
    arguments: [
      "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "GET /\r\n\r\n", "garbage\r\n\r\n",
      "GET / HTTP/9.9\r\nHost: x\r\n\r\n",
      request("POST /", ["Content-Length: 4", "Transfer-Encoding: chunked"]) + "0\r\n\r\n",
      request("POST /", ["Content-Length: 4", "Content-Length: 5"]) + "abcde",
      request("POST /", ["Content-Length: -4"]) + "abcd", request("POST /", ["Content-Length: 0x4"]) + "abcd",
      request("POST /", ["Content-Length: 99999999999999999999999"]) + "abcd",
      request("POST /", ["Transfer-Encoding: chunked"]) + "zz\r\nabc\r\n",
      request("POST /", ["Transfer-Encoding: gzip, chunked"]) + "0\r\n\r\n", request("GET /", ["Host: two"]),
    ])
  func malformed(_ text: String) async throws {
    try await withServer(describe) { _, port in
      let answer = try await Client.exchange(port, text)
      #expect(answer.isEmpty || (400..<600).contains(answer.status ?? 0), "\(answer)")
      #expect(try await Client.exchange(port, request("GET /")).status == 200)
    }
  }

  @Test(
    "zero bytes, and targets of another host, which are status 400",
    arguments: [
      request("GET /", ["X\0Y: b"]), request("GET /", ["X: a\0b"]), request("GET /", ["X: \0"]),
      request("GET /a\0b"), request("GET\0 /"), request("GET /?a=b\0"), "GET / HTTP/1.1\r\nHost: te\0st\r\n\r\n",
      request("GET http://evil.example/"), request("GET https://test.evil.example"), request("GET http://test:80/"),
      request("GET http://user@test/"), request("GET http:///"), "GET http://test/ HTTP/1.0\r\n\r\n",
    ])
  func refused(_ text: String) async throws {
    try await withServer(describe) { (_, port) async throws in
      #expect(try await Client.exchange(port, text).status == 400, "\(text.debugDescription)")
    }
  }

  /// Heads that a proxy may read in another way, so that it takes other bytes for the next request.
  @Test(
    "heads that are read in two ways",
    arguments: [
      request("POST /", ["Content-Length : 4"]) + "abcd", request("POST /", ["Content-Length\t: 4"]) + "abcd",
      request("POST /", ["X : b"]), request("POST /", ["Transfer-Encoding : chunked"]) + "0\r\n\r\n",
      request("GET /", ["X: a\r\n b"]), request("GET /", ["X: a\r\n\tContent-Length: 4"]) + "abcd",
      request("POST /", ["Content-Length: 4", " X: b"]) + "abcd",
      "GET / HTTP/1.1\nHost: x\nConnection: close\n\n", "GET / HTTP/1.1\r\nHost: x\nX: b\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: x\r\nX: b\nContent-Length: 4\r\n\r\nabcd",
      "GET / HTTP/1.1\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\n",
      "GET / HTTP/1.0\r\n\n", "GET / HTTP/1.0\n\r\n",
      "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ])
  func ambiguous(_ text: String) async throws {
    try await withServer(describe) { _, port in
      let answer = try await Client.exchange(port, text)
      #expect(answer.isEmpty || answer.status == 400, "\(text.debugDescription): \(answer)")
      #expect(try await Client.exchange(port, request("GET /")).status == 200)
    }
  }

  @Test("heads with many, long and empty fields, several on one connection")
  func unusual() async throws {
    try await withServer(describe) { _, port in
      let fields =
        ["X:", "Y: ", "Z:  two blanks  ", "Q:\t\ta\t"]
        + (0..<50).map { "H\($0): \(String(repeating: "v", count: $0 * 5))" }
      let first = request("POST /a", fields + ["Content-Length: 3"]).replacing("Connection: close\r\n", with: "")
      let answers = try await onThread {
        let client = try Client(port)
        for byte in (first + "abc").utf8 { client.send([byte]) }
        client.send(
          first + "def" + request("POST /b", fields + ["Transfer-Encoding: chunked"]) + "2\r\nxy\r\n0\r\n\r\n")
        return client.receive().text
      }
      #expect(answers.components(separatedBy: " 200 OK").count == 4, "\(answers)")
      #expect(answers.contains("abc") && answers.contains("def"), "\(answers)")
      #expect(answers.hasSuffix("xy"), "\(answers)")
    }
  }

  @Test("odd targets, which reach the handler decoded")
  func targets() async throws {
    try await withServer(describe) { _, port in
      for (target, path) in [
        ("/../../etc/passwd", ["..", "..", "etc", "passwd"]), ("/%2e%2e/%2E", ["..", "."]), ("//a//b/", ["a", "b"]),
        ("/%", ["%"]), ("/%zz%4", ["%zz%4"]), ("/%ff", ["\u{FFFD}"]), ("/a%0d%0ab", ["a\r\nb"]),
        ("https://test", []), ("http://Test/x", ["x"]), ("/a%2f..%2fb", ["a/../b"]),
      ] {
        let answer = try await Client.exchange(port, request("GET \(target)"))
        #expect(answer.payload == "GET \(path) [] ", "\(target)")
      }
    }
  }

  @Test("clients that send a request byte by byte, or none")
  func slow() async throws {
    let limits = limits {
      $0.idleTimeout = .seconds(1)
      $0.requestTimeout = .milliseconds(300)
    }
    try await withServer(limits: limits, describe) { _, port in
      let end = try await onThread {
        let client = try Client(port)
        client.send("GET / HTTP/1.1\r\nHost: x\r\nX: ")
        var end: (text: String, ending: Client.Ending) = ("", .silent)
        for _ in 0..<3_000 where end.ending == .silent {
          client.send("x")
          end = client.receive(patience: .milliseconds(10))
        }
        return end
      }
      #expect(end.ending != .silent && end.text.isEmpty)
      let idle = try await onThread { try Client(port).receive() }
      #expect(idle.ending == .closed)
      let kept = try await onThread {
        let client = try Client(port)
        client.send(request("GET /", close: false))
        return client.receive()
      }
      #expect(kept.text.status == 200 && kept.ending == .closed)
    }
  }

  @Test("more clients than it has connections for")
  func connections() async throws {
    try await withServer(limits: limits { $0.connections = 5 }, describe) { _, port in
      let answers = try await withThrowingTaskGroup(of: Int?.self) { group in
        for _ in 0..<40 { group.addTask { try await Client.exchange(port, request("GET /")).status } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(answers == [Int?](repeating: 200, count: 40))
    }
  }

  /// Clients that keep asking need all processors for seconds, so they are part of the long tests.
  private static let busy = ProcessInfo.processInfo.environment["COFFER_PROVE"] == nil ? [] : ["/busy"]

  /// The page of somebody else is answered at once, or after a second from the same address; after a few seconds if
  /// the clients keep asking.
  @Test("clients that hold all connections", arguments: ["127.0.0.1", "127.0.0.2"], ["slow", "/stream"] + busy)
  func held(by peer: String, _ what: String) async throws {
    let calls = Calls()
    let handler = serving { request in
      guard request.path == ["stream"] else { return await describe(request) }
      return HTTPResponse(200, body: .stream(length: nil, HTTPBodyStream { try await calls.waitForEnd() }))
    }
    try await withServer(limits: limits { $0.connections = 20 }, handler) { _, port in
      let head = what == "slow" ? "GET / HTTP/1.1\r\nX: " : request("GET \(what)", close: false)
      let (answer, again) = try await onThread {
        let mine = try Client(port)
        mine.send(request("GET /mine", close: false))
        let first = mine.receive { $0.hasSuffix("[] ") }.text.status
        let clients = try (0..<(what == "/busy" ? 25 : 60)).map { _ in try Client(port, from: peer) }
        for client in clients { client.send(head) }
        let other = try Client(port)
        other.send(request("GET /other"))
        var answer: Int?
        if what == "/busy" {
          for _ in 0..<150 where answer == nil {
            answer = other.receive(patience: .milliseconds(200)).text.status
            for client in clients { client.send(head) }
          }
        } else {
          answer = other.receive().text.status
        }
        mine.send(request("GET /mine"))
        return withExtendedLifetime(clients) { (answer, first.map { _ in mine.receive().text.status }) }
      }
      #expect(answer == 200)
      if peer != "127.0.0.1" { #expect(again == 200, "only the address with the most connections loses some") }
    }
  }

  @Test("responses that would inject header fields")
  func injection() async throws {
    let bad = [("X", "a\r\nSet-Cookie: b"), ("X", "a\n"), ("X\r\nY", "a"), ("X", "a\0b"), ("", "a"), ("X Y", "a")]
    try await withServer(
      serving { request in
        let index = request.path.first.flatMap { Int($0) } ?? 0
        return HTTPResponse(200, "text/plain", "secret").with(bad[index].0, bad[index].1)
      }
    ) { _, port in
      for index in bad.indices {
        let answer = try await Client.exchange(port, request("GET /\(index)"))
        #expect(answer.status == 500 && !answer.contains("Set-Cookie") && !answer.contains("secret"))
      }
    }
    for status in [0, 100, 199, 1_000, -1] {
      try await withServer(serving { _ in HTTPResponse(status, "text/plain", "") }) { (_, port) async throws in
        #expect(try await Client.exchange(port, request("GET /")).status == 500)
      }
    }
  }
}
