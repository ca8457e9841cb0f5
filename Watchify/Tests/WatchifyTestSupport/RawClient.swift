import Foundation

/// The end of a connection, as seen by a client that requested `Connection: close`.
package enum Ending: Sendable { case closed, reset, silent }

/// The received bytes and their interpretation.
package struct RawAnswer: Sendable {
  package let bytes: [UInt8]
  package let ending: Ending

  private var headEnd: Int? {
    bytes.indices.dropLast(3).first { bytes[$0...].starts(with: [13, 10, 13, 10]) }
  }

  private var lines: [String] {
    guard let headEnd else { return [] }
    return String(decoding: bytes[..<headEnd], as: UTF8.self).components(separatedBy: "\r\n")
  }

  package var status: Int? { lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
  package var body: [UInt8] { headEnd.map { Array(bytes[($0 + 4)...]) } ?? [] }
  package var text: String { String(decoding: body, as: UTF8.self) }
  package var length: Int? { header("Content-Length").flatMap { Int($0) } }

  package func headers(_ name: String) -> [String] {
    lines.dropFirst().compactMap { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
      return parts[1].trimmingCharacters(in: .whitespaces)
    }
  }

  package func header(_ name: String) -> String? { headers(name).first }
}

package struct SocketFailure: Error {}

/// Sends a request on a separate socket and thread; it ends after `patience` without a byte. After `enough` bytes of a
/// body, the client waits only briefly for more. With `keptOpen`, it returns after a whole body: the server may ignore
/// that the connection is to be closed.
package func ask(
  _ port: UInt16, _ target: String, method: String = "GET", headers: [String] = [], body: String = "",
  patience: Duration = .seconds(20), enough: Int? = nil, keptOpen: Bool = false
) async throws -> RawAnswer {
  var lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close"] + headers
  if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
  return try await exchange(
    port, lines.joined(separator: "\r\n") + "\r\n\r\n" + body, patience: patience, enough: enough, keptOpen: keptOpen)
}

/// Sends the text of a request; with `halfClosed`, followed by the end of the client's stream.
package func exchange(
  _ port: UInt16, at host: String = "127.0.0.1", _ request: String, patience: Duration = .seconds(20),
  enough: Int? = nil, keptOpen: Bool = false, halfClosed: Bool = false
) async throws -> RawAnswer {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      continuation.resume(
        with: Result { try blockingExchange(port, host, request, patience, enough, keptOpen, halfClosed) })
    }
  }
}

private func blockingExchange(
  _ port: UInt16, _ host: String, _ request: String, _ patience: Duration, _ enough: Int?, _ keptOpen: Bool,
  _ halfClosed: Bool
) throws -> RawAnswer {
  let descriptor = try connectedSocket(port, host)
  defer { close(descriptor) }
  let bytes = Array(request.utf8)
  var sent = 0
  while sent < bytes.count {
    let count = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if count <= 0 { break }  // an early refusal has already been sent: read it
    sent += count
  }
  if halfClosed { shutdown(descriptor, Int32(SHUT_WR)) }
  return receive(from: descriptor, patience, enough, keptOpen)
}

/// Connects to a numeric address of IPv4 or IPv6.
private func connectedSocket(_ port: UInt16, _ host: String) throws -> Int32 {
  var four = sockaddr_in()
  four.sin_family = sa_family_t(AF_INET)
  four.sin_port = port.bigEndian
  if inet_pton(AF_INET, host, &four.sin_addr) == 1 { return try connectedSocket(AF_INET, four) }
  var six = sockaddr_in6()
  six.sin6_family = sa_family_t(AF_INET6)
  six.sin6_port = port.bigEndian
  guard inet_pton(AF_INET6, host, &six.sin6_addr) == 1 else { throw SocketFailure() }
  return try connectedSocket(AF_INET6, six)
}

private func connectedSocket<Address>(_ family: Int32, _ address: Address) throws -> Int32 {
  let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
  guard descriptor >= 0 else { throw SocketFailure() }
  let result = withUnsafeBytes(of: address) { bytes in
    connect(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
  }
  guard result == 0 else {
    close(descriptor)
    throw SocketFailure()
  }
  return descriptor
}

private func receive(
  from descriptor: Int32, _ patience: Duration, _ enough: Int?, _ keptOpen: Bool
) -> RawAnswer {
  let limit = Int32(patience.components.seconds * 1_000 + patience.components.attoseconds / 1_000_000_000_000_000)
  var received: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 64 << 10)
  while true {
    var sign = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let hasEnough = enough.map { RawAnswer(bytes: received, ending: .silent).body.count >= $0 } ?? false
    guard poll(&sign, 1, hasEnough ? 100 : limit) > 0 else { return RawAnswer(bytes: received, ending: .silent) }
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count <= 0 { return RawAnswer(bytes: received, ending: count == 0 ? .closed : .reset) }
    received += buffer[..<count]
    if keptOpen {
      let answer = RawAnswer(bytes: received, ending: .silent)
      if let length = answer.length, answer.body.count >= length { return answer }
    }
  }
}
