import Foundation
import WatchifyTestSupport

struct ClientFailure: Error, CustomStringConvertible {
  let description: String
}

/// A blocking TCP client, for requests that no HTTP client sends. Use it on a thread of its own: see `onThread`.
final class Client: Sendable {
  let descriptor: Int32

  /// Connects to an address of this device, of IPv4 or IPv6.
  /// - Parameter source: the address of IPv4 that it connects from.
  init(_ port: UInt16, at host: String = "127.0.0.1", from source: String? = nil) throws {
    var four = sockaddr_in()
    four.sin_family = sa_family_t(AF_INET)
    four.sin_port = port.bigEndian
    var six = sockaddr_in6()
    six.sin6_family = sa_family_t(AF_INET6)
    six.sin6_port = port.bigEndian
    if inet_pton(AF_INET, host, &four.sin_addr) == 1 {
      descriptor = try Self.connected(AF_INET, four, from: source)
    } else if inet_pton(AF_INET6, host, &six.sin6_addr) == 1 {
      descriptor = try Self.connected(AF_INET6, six)
    } else {
      throw ClientFailure(description: "no address: \(host)")
    }
  }

  /// Connects to a Unix socket.
  init(unix path: String) throws { descriptor = try Self.connected(AF_UNIX, unixAddress(path)) }

  private static func connected<Address>(
    _ family: Int32, _ address: Address, from source: String? = nil
  ) throws -> Int32 {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw ClientFailure(description: "no socket: \(errno)") }
    if let source {
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      guard inet_pton(AF_INET, source, &own.sin_addr) == 1 else { throw ClientFailure(description: source) }
      let result = withUnsafeBytes(of: own) {
        bind(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
      }
      guard result == 0 else { throw ClientFailure(description: "no source \(source): \(errno)") }
    }
    let result = withUnsafeBytes(of: address) { bytes in
      connect(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    guard result == 0 else {
      let number = errno
      close(descriptor)
      throw ClientFailure(description: "not connected: \(number)")
    }
    return descriptor
  }

  deinit { close(descriptor) }

  /// Sends bytes; returns the number that was accepted before the connection broke.
  @discardableResult
  func send(_ bytes: [UInt8]) -> Int {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes {
        Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { break }
      sent += count
    }
    return sent
  }

  @discardableResult
  func send(_ text: String) -> Int { send(Array(text.utf8)) }

  enum Ending: Sendable { case closed, reset, silent, enough }

  /// Receives until `isEnough`, the end of the connection, or half a minute without a byte.
  func receive(
    patience: Duration = .seconds(30), until isEnough: (String) -> Bool = { _ in false }
  ) -> (text: String, ending: Ending) {
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let limit = Int32(patience.components.seconds * 1_000 + patience.components.attoseconds / 1_000_000_000_000_000)
    while true {
      let text = String(decoding: received, as: UTF8.self)
      if isEnough(text) { return (text, .enough) }
      var sign = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&sign, 1, limit) > 0 else { return (text, .silent) }
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count <= 0 { return (text, count == 0 ? .closed : .reset) }
      received += buffer[..<count]
    }
  }

  /// Sends a request and receives everything up to the end of the connection.
  static func exchange(_ port: UInt16, at host: String = "127.0.0.1", _ request: String) async throws -> String {
    try await onThread {
      let client = try Client(port, at: host)
      client.send(request)
      return client.receive().text
    }
  }
}

/// Returns the address of a Unix socket at a short path.
func unixAddress(_ path: String) -> sockaddr_un {
  var address = sockaddr_un()
  address.sun_family = sa_family_t(AF_UNIX)
  withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
  return address
}

/// Returns a request with the fields that HTTP/1.1 requires.
func request(_ line: String, _ fields: [String] = [], body: String = "", close: Bool = true) -> String {
  var lines = ["\(line) HTTP/1.1", "Host: test"] + fields
  if close { lines.append("Connection: close") }
  if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
  return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
}

extension String {
  /// The status of a response.
  var status: Int? { split(separator: " ").dropFirst().first.flatMap { Int($0.prefix(3)) } }
  /// What follows the header fields.
  var payload: String { range(of: "\r\n\r\n").map { String(self[$0.upperBound...]) } ?? "" }
  /// The value of a header field.
  func field(_ name: String) -> String? {
    for line in components(separatedBy: "\r\n\r\n")[0].components(separatedBy: "\r\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2, parts[0].lowercased() == name.lowercased() {
        return parts[1].trimmingCharacters(in: .whitespaces)
      }
    }
    return nil
  }
}
