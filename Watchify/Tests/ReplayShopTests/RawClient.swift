import Foundation
import ReplayShop

/// The end of a connection, as seen by a client that requested `Connection: close`.
enum Ending: Sendable { case closed, reset, silent }

/// The received bytes and their interpretation.
struct RawAnswer: Sendable {
  let bytes: [UInt8]
  let ending: Ending

  private var headEnd: Int? {
    bytes.indices.dropLast(3).first { bytes[$0...].starts(with: [13, 10, 13, 10]) }
  }

  private var lines: [String] {
    guard let headEnd else { return [] }
    return String(decoding: bytes[..<headEnd], as: UTF8.self).components(separatedBy: "\r\n")
  }

  var status: Int? { lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
  var body: [UInt8] { headEnd.map { Array(bytes[($0 + 4)...]) } ?? [] }
  var text: String { String(decoding: body, as: UTF8.self) }
  var length: Int? { header("Content-Length").flatMap { Int($0) } }

  func headers(_ name: String) -> [String] {
    lines.dropFirst().compactMap { line in
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == name.lowercased() else { return nil }
      return parts[1].trimmingCharacters(in: .whitespaces)
    }
  }

  func header(_ name: String) -> String? { headers(name).first }
}

struct SocketFailure: Error {}

/// Sends a request on a separate socket and thread; it ends after `patience` without a byte. After `enough` bytes of a
/// body, the client waits only briefly for more.
func ask(
  _ port: UInt16, _ target: String, method: String = "GET", headers: [String] = [], body: String = "",
  patience: Duration = .seconds(20), enough: Int? = nil
) async throws -> RawAnswer {
  var lines = ["\(method) \(target) HTTP/1.1", "Host: 127.0.0.1:\(port)", "Connection: close"] + headers
  if !body.isEmpty { lines.append("Content-Length: \(body.utf8.count)") }
  return try await exchange(
    port, lines.joined(separator: "\r\n") + "\r\n\r\n" + body, patience: patience, enough: enough)
}

func exchange(
  _ port: UInt16, _ request: String, patience: Duration = .seconds(20), enough: Int? = nil
) async throws -> RawAnswer {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      continuation.resume(with: Result { try blockingExchange(port, request, patience, enough) })
    }
  }
}

private func blockingExchange(
  _ port: UInt16, _ request: String, _ patience: Duration, _ enough: Int?
) throws -> RawAnswer {
  let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
  guard descriptor >= 0 else { throw SocketFailure() }
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = port.bigEndian
  address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
  let connected = withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
      connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
  }
  guard connected == 0 else { throw SocketFailure() }
  let bytes = Array(request.utf8)
  var sent = 0
  while sent < bytes.count {
    let count = bytes[sent...].withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    if count <= 0 { break }  // an early refusal has already been sent: read it
    sent += count
  }
  return receive(from: descriptor, patience, enough)
}

private func receive(from descriptor: Int32, _ patience: Duration, _ enough: Int?) -> RawAnswer {
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
  }
}

// MARK: - Expectations on responses

/// Only the members that the tests read.
struct Listed: Decodable {
  struct Product: Decodable, Equatable {
    struct Variant: Decodable, Equatable {
      let id: Int
      let title: String
      let price: String
      let compareAtPrice: String?
      let available: Bool
    }
    struct Image: Decodable, Equatable { let src: String }
    let id: Int
    let title, handle, updatedAt: String
    let variants: [Variant]
    let images: [Image]
  }
  let products: [Product]

  init(_ data: Data) throws {
    let decoder = JSONDecoder()
    decoder.keyDecodingStrategy = .convertFromSnakeCase
    self = try decoder.decode(Listed.self, from: data)
  }
}

extension RawAnswer {
  func products() throws -> [Listed.Product] {
    try Listed(Data(body)).products
  }
}

/// Returns a shop with a changed configuration.
func settings(_ change: (inout ReplayConfiguration) -> Void) -> ReplayConfiguration {
  var configuration = ReplayConfiguration()
  change(&configuration)
  return configuration
}

/// Runs a body with a server that is stopped at the end.
func withServer<R>(
  _ feed: ShopFeed = ShopGenerator(products: 10, variants: 2).feed, timeline: ReplayTimeline? = nil,
  _ configuration: ReplayConfiguration = ReplayConfiguration(),
  _ body: (ReplayServer, UInt16) async throws -> R
) async throws -> R {
  let server = ReplayServer(feed: feed, configuration: configuration, timeline: timeline)
  let port = try server.start()
  defer { server.stop() }
  return try await body(server, port)
}
