import Foundation
import Glibc
import Testing

@testable import WatchifyKit

/// Requests of processes whose environment sets a proxy.
@Suite("Proxies", .timeLimit(.minutes(5))) struct ProxyTests {
  /// Sets a proxy, and the networks for which it would not count.
  private static func setProxy(_ address: String) {
    setenv("https_proxy", address, 1)
    setenv("http_proxy", address, 1)
    setenv("all_proxy", address, 1)
    setenv("no_proxy", "127.0.0.1,localhost,::1,10.0.0.0/8,.example,.local", 1)
  }

  @Test("Nothing of a shop reaches this device or its networks, whatever no_proxy contains")
  func ownNetworks() async throws {
    let (proxy, own) = (try ScriptedServer([.status(502)]), try ScriptedServer([.status(404)]))
    defer {
      proxy.stop()
      own.stop()
    }
    await #expect(processExitsWith: .success) { [proxy = proxy.port as Int, own = own.port as Int] in
      Self.setProxy("http://127.0.0.1:\(proxy)")
      let pictures = PictureSource()
      for host in ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]"] {
        let picture = try await pictures.picture(at: "https://\(host):\(own)/a.png", isLocal: false)
        #expect(picture == nil, "\(host)")
      }
      for host in ["10.0.0.1", "10.1", "169.254.169.254", "[fd12::1]", "[fe80::1%25lo]", "nas.local", "nas", "nas."] {
        let picture = try await pictures.picture(at: "//\(host)/a.png", isLocal: false)
        #expect(picture == nil, "\(host)")
      }
      for host in ["%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1", "127.0.0.1%C2%AD", "nas.localdomain"] {
        let picture = try await pictures.picture(at: "https://\(host):\(own)/a.png", isLocal: false)
        #expect(picture == nil, "\(host)")
      }
      // A shop on this device cannot name another one either.
      let picture = try await pictures.picture(at: "http://10.0.0.1/a.png", isLocal: true)
      #expect(picture == nil)
      let hook = HTTPRequest(
        url: try #require(URL(string: "http://127.0.0.1:\(own)/hook")), upload: .init(body: Data("{}".utf8)))
      let transport = HTTPTransport(timeout: .seconds(20), longestTransfer: .seconds(20))
      await #expect(throws: ForbiddenAddress.self) { try await transport.send(hook, limit: .init(bytes: 1_000)) }
      let mail = MailTransfer(try Self.mail("smtp://127.0.0.1:\(own)")).run()
      #expect(mail.code == 7 && mail.forbidden == "127.0.0.1")
    }
    #expect(proxy.targets.isEmpty && own.targets.isEmpty)
  }

  @Test("Everything on the internet goes through the proxy, whatever no_proxy contains")
  func internet() async throws {
    let proxy = try ScriptedServer([.status(502)])
    defer { proxy.stop() }
    await #expect(processExitsWith: .success) { [proxy = proxy.port as Int] in
      Self.setProxy("http://127.0.0.1:\(proxy)")
      let pictures = PictureSource()
      await #expect(throws: URLError.self) {
        try await pictures.picture(at: "https://shop.example/a.png", isLocal: false)
      }
      await #expect(throws: URLError.self) {
        try await pictures.picture(at: "https://b\u{FC}cher.example/a.png", isLocal: false)
      }
      let hook = HTTPRequest(
        url: try #require(URL(string: "http://hook.example/x")), upload: .init(body: Data("{}".utf8)))
      let transport = HTTPTransport(timeout: .seconds(20), longestTransfer: .seconds(20))
      let answer = try await transport.send(hook, limit: .init(bytes: 1_000))
      let mail = MailTransfer(try Self.mail("smtp://mail.example:587")).run()
      #expect(answer.status == 502 && mail.code != 0)
    }
    let targets = ["shop.example:443", "xn--bcher-kva.example:443", "http://hook.example/x", "mail.example:587"]
    #expect(proxy.targets == targets)
  }

  @Test("What is on this device is requested directly")
  func thisDevice() async throws {
    let (proxy, own) = (try ScriptedServer([.status(502)]), try ScriptedServer([.status(404)]))
    defer {
      proxy.stop()
      own.stop()
    }
    await #expect(processExitsWith: .success) { [proxy = proxy.port as Int, own = own.port as Int] in
      setenv("all_proxy", "http://127.0.0.1:\(proxy)", 1)
      let picture = try await PictureSource().picture(at: "http://127.0.0.1:\(own)/a.png", isLocal: true)
      #expect(picture == nil)
    }
    #expect(proxy.targets.isEmpty && own.targets == ["/a.png?width=640"])
  }

  @Test(
    "A SOCKS proxy is given the name, not an address that this device has resolved",
    arguments: [
      ("socks5", [5, 1, 0, 3, 12] as [UInt8]), ("socks4", [4, 1, 1, 187, 0, 0, 0]), ("SOCKS", [4, 1, 1, 187, 0, 0, 0]),
    ])
  func names(scheme: String, start: [UInt8]) async throws {
    let proxy = try SocksServer()
    async let request = proxy.request()
    await #expect(processExitsWith: .success) { [port = proxy.port as Int, scheme = scheme as String] in
      setenv("all_proxy", "\(scheme)://127.0.0.1:\(port)", 1)
      await #expect(throws: URLError.self) {
        try await PictureSource().picture(at: "https://shop.example/a.png", isLocal: false)
      }
    }
    // Version 5, connect, a name and its length (RFC 1928); or version 4, connect, a port and no address.
    let bytes = await request
    #expect(bytes.starts(with: start) && String(decoding: bytes, as: UTF8.self).contains("shop.example"), "\(bytes)")
  }

  private static func mail(_ address: String) throws -> MailSubmission {
    MailSubmission(
      url: try #require(URL(string: address)), reach: .internet, sender: "shop@example.org",
      recipients: ["ada@example.org"], message: Data("Subject: x\r\n\r\nx\r\n".utf8), deadline: .seconds(20))
  }
}

/// A SOCKS proxy that accepts one client and keeps its request.
private struct SocksServer {
  let port: Int
  private let socket: Int32

  init() throws {
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var (length, deadline) = (socklen_t(MemoryLayout<sockaddr_in>.size), timeval(tv_sec: 120, tv_usec: 0))
    let listening = socket
    setsockopt(listening, SOL_SOCKET, SO_RCVTIMEO, &deadline, socklen_t(MemoryLayout<timeval>.size))
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listening, address, length) == 0 && listen(listening, 1) == 0
          && getsockname(listening, address, &length) == 0
      }
    }
    guard isListening else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    port = Int(UInt16(bigEndian: address.sin_port))
  }

  /// Returns the request of the first client; empty if none comes.
  func request() async -> [UInt8] {
    await withCheckedContinuation { continuation in
      Thread { [socket] in
        let client = accept(socket, nil, nil)
        var bytes = [UInt8](repeating: 0, count: 512)
        var count = recv(client, &bytes, bytes.count, 0)
        if bytes[0] == 5 {
          send(client, [5, 0], 2, Int32(MSG_NOSIGNAL))  // no authentication
          count = recv(client, &bytes, bytes.count, 0)
        }
        close(client)
        close(socket)
        continuation.resume(returning: Array(bytes.prefix(max(0, count))))
      }.start()
    }
  }
}
