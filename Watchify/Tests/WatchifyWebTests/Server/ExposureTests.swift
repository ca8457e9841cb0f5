import CofferTesting
import Foundation
import Testing
import WatchifyHTTP
import WatchifyKit
import WatchifyTestSupport
import WatchifyWeb

@Suite(.serialized) struct ExposureTests {
  /// Runs a body with a server that is stopped at the end.
  private func withServer<R>(
    _ configuration: SiteServer.Configuration, _ body: (SiteServer) async throws -> R
  ) async throws -> R {
    let directory = try TemporaryDirectory()
    let container = try await ModelContainer.open(at: directory.url.appendingPathComponent("watchify.db"))
    let service = await StoreService.makeBackground(container: container)
    let server = try SiteServer(
      service: service, container: container, pictures: directory.url.appendingPathComponent("pictures"),
      configuration: configuration)
    let result: Result<R, any Error>
    do {
      try server.start()
      result = .success(try await body(server))
    } catch { result = .failure(error) }
    await server.stop()
    try await container.close()
    return try result.get()
  }

  @Test func otherDevicesNeedTokenAndTLS() async throws {
    var configuration = SiteServer.Configuration()
    configuration.port = 0
    configuration.host = "0.0.0.0"
    await #expect(throws: SiteServer.Refusal.needsToken(host: "0.0.0.0")) {
      try await withServer(configuration) { _ in }
    }
    configuration.accessToken = "short"
    await #expect(throws: SiteServer.Refusal.shortToken) { try await withServer(configuration) { _ in } }
    configuration.accessToken = "a token of enough length"
    await #expect(throws: SiteServer.Refusal.needsTLS(host: "0.0.0.0")) { try await withServer(configuration) { _ in } }
    configuration.host = "127.0.0.1"
    let url = try await withServer(configuration) { $0.url }
    #expect(url?.scheme == "http")
  }

  /// A service manager may pass any socket, so its own address decides.
  @Test(arguments: [("0.0.0.0", true), ("127.0.0.1", false)])
  func aPassedSocketIsNoException(_ host: String, isRefused: Bool) async throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    #expect(inet_pton(AF_INET, host, &address.sin_addr) == 1)
    let isBound = withUnsafePointer(to: &address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    try #require(isBound == 0 && listen(descriptor, 8) == 0)
    var configuration = SiteServer.Configuration()
    configuration.listeningDescriptor = descriptor
    guard isRefused else { return #expect(try await withServer(configuration) { $0.url }?.host == host) }
    await #expect(throws: SiteServer.Refusal.needsToken(host: host)) { try await withServer(configuration) { _ in } }
  }

  @Test func anOccupiedPortIsAnError() async throws {
    var configuration = SiteServer.Configuration()
    configuration.port = 0
    try await withServer(configuration) { first in
      var second = configuration
      second.port = UInt16(try #require(first.url?.port))
      await #expect(throws: HTTPServerError.self) { try await withServer(second) { _ in } }
    }
  }

  @Test(
    arguments: ["0.0.0.0", "::", "::ffff:0.0.0.0"].filter(PassedSocket.isPossible))
  func aPassedSocketThatOtherDevicesReachNeedsTokenAndTLS(host: String) async throws {
    let socket = try PassedSocket(host)
    let name = host.hasPrefix("::f") ? "0.0.0.0" : host
    var configuration = SiteServer.Configuration()
    configuration.listeningDescriptor = socket.descriptor
    await #expect(throws: SiteServer.Refusal.needsToken(host: name)) { try await withServer(configuration) { _ in } }
    configuration.accessToken = "a token of enough length"
    await #expect(throws: SiteServer.Refusal.needsTLS(host: name)) { try await withServer(configuration) { _ in } }
  }

  @Test(arguments: ["127.0.0.1", "127.0.0.2", "::1", "::ffff:127.0.0.1"].filter(PassedSocket.isPossible))
  func aPassedSocketOfThisDeviceServesUnderItsOwnAddress(host: String) async throws {
    let socket = try PassedSocket(host)
    var configuration = SiteServer.Configuration()
    configuration.host = "192.0.2.1"
    configuration.listeningDescriptor = socket.descriptor
    try await withServer(configuration) { server in
      let url = try #require(server.url)
      #expect(url.host == host.replacing("::ffff:", with: "") && url.port == Int(socket.port) && url.scheme == "http")
      let own = url.absoluteString.dropFirst("http://".count).dropLast()
      for (field, status) in [(String(own), 200), ("localhost:\(socket.port)", 200), ("127.0.0.1:8737", 421)] {
        let answer = try await exchange(
          socket.port, at: url.host ?? "", "GET / HTTP/1.1\r\nHost: \(field)\r\nConnection: close\r\n\r\n")
        #expect(answer.status == status, "\(field)")
      }
    }
  }

  @Test func aClientThatConnectedBeforeTheStartIsServed() async throws {
    var random = SystemRandomNumberGenerator()
    for _ in 1...20 {
      let socket = try PassedSocket("127.0.0.1")
      var configuration = SiteServer.Configuration()
      configuration.listeningDescriptor = socket.descriptor
      let answer = Task { try await ask(socket.port, "/") }
      // Most requests wait in the queue by now; one that comes later is served as well.
      try await suspend(upTo: .milliseconds(10), using: &random)
      let status = try await withServer(configuration) { _ in try await answer.value.status }
      #expect(status == 200)
    }
  }

  @Test func aPassedDescriptorMustBeATCPSocket() async throws {
    let directory = try TemporaryDirectory()
    let unix = try PassedSocket(unix: directory.path("s"))
    for descriptor in [unix.descriptor, -1] {
      var configuration = SiteServer.Configuration()
      configuration.listeningDescriptor = descriptor
      await #expect(throws: SiteServer.Refusal.notTCP(descriptor: descriptor)) {
        try await withServer(configuration) { _ in }
      }
    }
  }
}
