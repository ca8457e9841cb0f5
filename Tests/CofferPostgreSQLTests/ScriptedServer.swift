import CofferTestSupport
import CofferTesting
import Foundation

/// A listener on 127.0.0.1 that speaks to one client as a test tells it.
final class ScriptedServer: Sendable {
  let port: Int
  private let listener: Int32

  init() throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = Self.loopback
    let isReady = Self.with(&address) { bind(listener, $0, $1) == 0 && listen(listener, 8) == 0 }
    let isNamed = Self.with(&address) { pointer, size in
      var size = size
      return getsockname(listener, pointer, &size) == 0
    }
    guard isReady, isNamed else { throw TestFailure("no socket for a server") }
    (self.listener, port) = (listener, Int(UInt16(bigEndian: address.sin_port)))
  }

  deinit { close(listener) }

  private static var loopback: sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  private static func with<R>(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> R
  ) -> R {
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
    }
  }

  /// Sends each answer after a request of the next client, its parts one after the other once the client has taken the
  /// one before, and returns all that the client has sent until it ended.
  func serve(_ answers: [[[UInt8]]]) async -> Data {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: self.serveNext(answers)) }
      thread.name = "coffer.script"
      thread.start()
    }
  }

  private func serveNext(_ answers: [[[UInt8]]]) -> Data {
    var (address, received) = (Self.loopback, Data())
    let client = Self.with(&address) { pointer, size in
      var size = size
      return accept(listener, pointer, &size)
    }
    guard client >= 0 else { return received }
    defer { close(client) }
    var (isOn, limit) = (Int32(1), timeval(tv_sec: 10 * patience, tv_usec: 0))
    setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    setsockopt(client, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var buffer = [UInt8](repeating: 0, count: 4_096)
    for parts in answers + [[]] {
      repeat {
        let count = recv(client, &buffer, buffer.count, 0)
        guard count > 0 else { return received }
        received += buffer[..<count]
      } while parts.isEmpty
      for part in parts {
        _ = send(client, part, part.count, Int32(MSG_NOSIGNAL))
        waitUntilTaken(by: Int(UInt16(bigEndian: address.sin_port)))
      }
    }
    return received
  }

  /// Waits until the client at a port has read everything, or is gone: see proc_net_tcp in the kernel's documentation.
  private func waitUntilTaken(by client: Int) {
    let (ours, theirs) = (String(format: ":%04X", port), String(format: ":%04X", client))
    try? blockUntil("the client has read everything") {
      let table = (try? String(contentsOfFile: "/proc/net/tcp", encoding: .utf8)) ?? ""
      return !table.split(separator: "\n").contains { line in
        let fields = line.split(separator: " ")
        guard fields.count > 4 else { return false }
        if fields[1].hasSuffix(ours), fields[2].hasSuffix(theirs) { return !fields[4].hasPrefix("00000000:") }
        return fields[1].hasSuffix(theirs) && fields[2].hasSuffix(ours) && !fields[4].hasSuffix(":00000000")
      }
    }
  }
}
