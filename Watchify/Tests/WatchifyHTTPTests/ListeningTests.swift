import CofferTesting
import Foundation
import Testing
import WatchifyHTTP
import WatchifyTestSupport

/// A listening socket of the test's own, as a service manager would pass it.
private final class Listener: Sendable {
  let descriptor: Int32

  /// Listens at any port of 127.0.0.1.
  convenience init() throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    try self.init(AF_INET, address)
  }

  /// Listens at a Unix socket.
  convenience init(unix path: String) throws { try self.init(AF_UNIX, unixAddress(path)) }

  private init<Address>(_ family: Int32, _ address: Address) throws {
    descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
    let bound = withUnsafeBytes(of: address) { bytes in
      bind(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    guard bound == 0, listen(descriptor, 16) == 0 else { throw ClientFailure(description: "no listener: \(errno)") }
  }

  deinit { close(descriptor) }
}

private var hasIPv6: Bool {
  let descriptor = socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  var address = sockaddr_in6()
  address.sin6_family = sa_family_t(AF_INET6)
  inet_pton(AF_INET6, "::1", &address.sin6_addr)
  return withUnsafeBytes(of: address) { bytes in
    bind(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
  }
}

@Suite("A server listens")
struct ListeningTests {
  private func withServer(
    _ configuration: HTTPServer.Configuration, _ body: (HTTPServer, UInt16) async throws -> Void
  ) async throws {
    let server = HTTPServer(configuration: configuration, handler: describe)
    let port = try server.start()
    do { try await body(server, port) } catch {
      await server.stop(grace: .zero)
      throw error
    }
    await server.stop(grace: .zero)
  }

  @Test("at the loopback address of IPv6 only", .enabled(if: hasIPv6, "this device has no IPv6"))
  func six() async throws {
    try await withServer(.init(host: "::1")) { _, port in
      let text = try await Client.exchange(port, at: "::1", request("GET /six"))
      #expect(text.payload == #"GET ["six"] [] "#)
      #expect(throws: ClientFailure.self) { try Client(port) }
    }
  }

  @Test("at every address of IPv4")
  func everywhere() async throws {
    try await withServer(.init(host: "0.0.0.0")) { _, port in
      for host in ["127.0.0.1", "127.0.0.2"] {
        let text = try await Client.exchange(port, at: host, request("GET /"))
        #expect(text.status == 200, "\(host)")
      }
    }
    try await withServer(.init()) { _, port in
      #expect(throws: ClientFailure.self) { try Client(port, at: "127.0.0.2") }
    }
  }

  @Test("not at a name or a foreign address", arguments: ["localhost", "", "192.0.2.1", "[::1]"])
  func refused(host: String) throws {
    let error = #expect(throws: HTTPServerError.self) {
      try HTTPServer(configuration: .init(host: host), handler: describe).start()
    }
    guard case .cannotListen(host, 0, _) = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("at a passed socket, which outlives it: a client that comes in between waits for the next server")
  func passed() async throws {
    let listener = try Listener()
    var port: UInt16 = 0
    // Neither the host nor the port of the configuration counts.
    let configuration = HTTPServer.Configuration(host: "192.0.2.1", port: 1, listeningDescriptor: listener.descriptor)
    try await withServer(configuration) { server, actual in
      port = actual
      #expect(port > 1 && server.port == port)
      let text = try await Client.exchange(port, request("GET /one"))
      #expect(text.payload == #"GET ["one"] [] "#)
    }
    let early = try Client(port)
    early.send(request("GET /two"))
    try await withServer(configuration) { _, again in
      #expect(again == port)
      let text = try await onThread { early.receive().text }
      #expect(text.payload == #"GET ["two"] [] "#)
    }
    #expect(fcntl(listener.descriptor, F_GETFD) >= 0)
  }

  @Test("at a passed Unix socket, which has no port")
  func unix() async throws {
    let directory = try TemporaryDirectory()
    let listener = try Listener(unix: directory.path("s"))
    try await withServer(.init(listeningDescriptor: listener.descriptor)) { server, port in
      #expect(port == 0 && server.port == 0)
      let text = try await onThread {
        let client = try Client(unix: directory.path("s"))
        client.send(request("GET /unix"))
        return client.receive().text
      }
      #expect(text.payload == #"GET ["unix"] [] "#)
    }
  }

  @Test("not at a descriptor that is no listening socket, which stays open")
  func notListening() async throws {
    let directory = try TemporaryDirectory()
    let file = open(directory.path("file"), O_CREAT | O_RDWR, 0o600)
    let stream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let datagram = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    for descriptor in [file, stream, datagram] {
      let server = HTTPServer(configuration: .init(listeningDescriptor: descriptor), handler: describe)
      let error = #expect(throws: HTTPServerError.self) { try server.start() }
      #expect(error?.description.hasPrefix("Descriptor \(descriptor) is not a listening socket: ") == true)
      #expect(server.port == nil && fcntl(descriptor, F_GETFD) >= 0)
      close(descriptor)
    }
    #expect(throws: HTTPServerError.self) {
      try HTTPServer(configuration: .init(listeningDescriptor: -1), handler: describe).start()
    }
  }
}
