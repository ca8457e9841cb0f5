import CofferCore
import CofferTesting
import Foundation
import Testing
import WatchifyHTTP
import WatchifyKit
import WatchifyTestSupport

@testable import WatchifyWeb

/// Clients that are no browsers.
@Suite(.serialized) struct StrangerTests {
  private func port(_ served: ServedBench) throws -> UInt16 { UInt16(try #require(URL(string: served.url)?.port)) }

  /// The end of a client's stream counts as its departure, which must not turn into the failure of a page.
  @Test func aClientThatHasOnlyFinishedSendingGetsItsPage() async throws {
    try await ServedBench.use { served in
      let port = try port(served)
      for page in ["/activity", "/products", "/health"] {
        let answer = try await exchange(
          port, "GET \(page) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", halfClosed: true)
        #expect(answer.status == 200, "\(page)")
      }
    }
  }

  @Test func longAddressesAreAnswered() async throws {
    try await ServedBench.use { served in
      let port = try port(served)
      for (target, status) in [
        ("/products?" + String(repeating: "a=b&", count: 3_000), 200),
        ("/products?q=" + String(repeating: "a+", count: 5_000), 200),
        ("/products?" + String(repeating: "x", count: 100_000), 414),
        ("/pictures/../../" + String(repeating: "../", count: 2_000) + "etc/passwd", 404),
      ] {
        #expect(try await ask(port, target).status == status, "\(target.prefix(40))")
      }
    }
  }

  /// A browser that opens a page and never reads it, a hundred times, neither stops others nor the server.
  @Test(.timeLimit(.minutes(2))) func pagesThatNeverReadDoNotStopOthers() async throws {
    try await ServedBench.use { served in
      let port = try port(served)
      let silent = try (0..<100).map { _ in try SilentClient(port) }
      for client in silent {
        client.request(String(repeating: "GET /products HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n", count: 3))
      }
      for _ in 0..<5 { #expect(try await ask(port, "/products").status == 200) }
      withExtendedLifetime(silent) {}
    }
  }

  /// Streams and slow requests of one address, which behind a proxy is that of everybody.
  @Test(.timeLimit(.minutes(2))) func openStreamsAndSlowRequestsDoNotStopOthers() async throws {
    try await ServedBench.use { served in
      let port = try port(served)
      let streams = try (0..<700).map { _ in try SilentClient(port) }
      for client in streams { client.request("GET /live HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n") }
      #expect(try await ask(port, "/activity").status == 200)
      let slow = try (0..<1_000).map { _ in try SilentClient(port) }
      for client in slow { client.request("GET / HTTP/1.1\r\nX: ") }
      #expect(try await ask(port, "/activity").status == 200)
      #expect(served.server.livePageCount <= LiveFeed.mostOfOnePeer)
      withExtendedLifetime((streams, slow)) {}
    }
  }
}

extension StrangerTests {
  /// News of a read is delivered on its own: a channel that hangs does not make the read look unfinished.
  @Test func aReadEndsThoughAChannelHangs() async throws {
    let delivery = Locked<CheckedContinuation<Void, Never>?>(nil)
    var options = SiteOptions()
    options.deliver = { _ in
      await withCheckedContinuation { continuation in delivery.withLock { $0 = continuation } }
    }
    try await SiteBench.use(options) { bench in
      let shop = try await bench.follow("tarn.example", name: "Tarn", [.make(1, "Mat")])
      bench.pass(hours: 24)
      let job = try #require(await bench.post("/shops/\(shop.uuidString.lowercased())/read").header("Location"))
      try await eventually("the read ends") { await bench.get(job).status == 303 }
      try await eventually("the channel hangs") { delivery.withLock { $0 != nil } }
      delivery.withLock { $0.take() }?.resume()
    }
  }
}

/// A connection with little room, whose owner reads nothing.
private final class SilentClient: Sendable {
  private let descriptor: Int32

  init(_ port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var room: Int32 = 2_048
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else { throw TestFailure("the server does not accept a connection") }
  }

  deinit { close(descriptor) }

  func request(_ text: String) {
    let bytes = Array(text.utf8)
    send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
  }
}
