import CofferCore
import Foundation
import Glibc

/// A small HTTP server on this device that responds from a list, one connection after another, and keeps a log.
final class ScriptedServer: Sendable {
  struct Request: Sendable {
    var target: String
    var head: String
    var body = Data()

    /// Returns the value of a header, whose name is matched in any case.
    func header(_ name: String) -> String? {
      for line in head.components(separatedBy: "\r\n") {
        let parts = line.components(separatedBy: ": ")
        if parts[0].lowercased() == name.lowercased() { return parts.dropFirst().joined(separator: ": ") }
      }
      return nil
    }
  }

  enum Reply: Sendable {
    case http(status: Int, headers: [String], body: String)
    /// The bytes, then the end of the connection.
    case raw([UInt8])
    /// No byte; the connection stays open.
    case silence
    /// The bytes, then nothing; the connection stays open.
    case stall([UInt8])
  }

  private struct State {
    var script: [Reply]
    var log: [Request] = []
    var held: [Int32] = []
    var isOver = false
    var enders: [CheckedContinuation<Void, Never>] = []
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  let port: Int
  private let socket: Int32
  private let robots: Reply
  private let state: Locked<State>

  /// Starts a server that responds to robots.txt with `robots` and to other requests with the next entry of `script`;
  /// the last one is repeated.
  init(_ script: [Reply], robots: Reply = .status(404)) throws {
    self.robots = robots
    state = Locked(State(script: script))
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listening = socket
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listening, address, length) == 0 && listen(listening, 64) == 0
          && getsockname(listening, address, &length) == 0
      }
    }
    guard result else { throw POSIXError(.init(rawValue: errno) ?? .EIO) }
    port = Int(UInt16(bigEndian: address.sin_port))
    let thread = Thread { [self] in serve() }
    thread.start()
  }

  var domain: String { "127.0.0.1:\(port)" }
  /// The requests, without those for robots.txt.
  var targets: [String] { log.map(\.target).filter { $0 != "/robots.txt" } }
  var log: [Request] { state.withLock { $0.log } }

  /// Returns when a number of requests have arrived, including robots.txt.
  func requests(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let isThere = state.withLock { state in
        if state.log.count >= count { return true }
        state.waiters.append((count, continuation))
        return false
      }
      if isThere { continuation.resume() }
    }
  }

  /// Ends the thread, which closes all connections.
  func stop() { shutdown(socket, Int32(SHUT_RDWR)) }

  /// Returns when the port is closed.
  func stopped() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state in
        if !state.isOver { state.enders.append(continuation) }
        return state.isOver
      }
      if isOver { continuation.resume() }
    }
  }

  private func serve() {
    while true {
      let connection = accept(socket, nil, nil)
      guard connection >= 0 else { break }
      var limit = timeval(tv_sec: 5, tv_usec: 0)
      setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
      answer(connection)
    }
    close(socket)
    let (held, enders) = state.withLock { state in
      state.isOver = true
      return (state.held, state.enders)
    }
    for connection in held { close(connection) }
    for continuation in enders { continuation.resume() }
  }

  private func answer(_ connection: Int32) {
    guard let request = receive(connection) else {
      close(connection)
      return
    }
    let (reply, reached) = state.withLock { state -> (Reply, [CheckedContinuation<Void, Never>]) in
      state.log.append(request)
      let count = state.log.count
      let reached = state.waiters.filter { $0.count <= count }.map(\.continuation)
      state.waiters.removeAll { $0.count <= count }
      if request.target == "/robots.txt" { return (robots, reached) }
      return (state.script.count > 1 ? state.script.removeFirst() : state.script.first ?? .status(500), reached)
    }
    switch reply {
    case .http(let status, let headers, let body):
      let lines =
        ["HTTP/1.1 \(status) Scripted", "Content-Length: \(body.utf8.count)", "Connection: close"] + headers + ["", ""]
      send(Array((lines.joined(separator: "\r\n") + body).utf8), to: connection)
      close(connection)
    case .raw(let bytes):
      send(bytes, to: connection)
      close(connection)
    case .silence: state.withLock { $0.held.append(connection) }
    case .stall(let bytes):
      send(bytes, to: connection)
      state.withLock { $0.held.append(connection) }
    }
    for continuation in reached { continuation.resume() }
  }

  private func receive(_ connection: Int32) -> Request? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      if let end = Data(bytes).range(of: Data("\r\n\r\n".utf8)) {
        let head = String(decoding: bytes[..<end.upperBound], as: UTF8.self)
        let parts = head.split(separator: " ")
        guard parts.count > 1 else { return nil }
        let request = Request(target: String(parts[1]), head: head, body: Data(bytes[end.upperBound...]))
        if request.body.count >= request.header("Content-Length").flatMap({ Int($0) }) ?? 0 { return request }
      }
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0, bytes.count < 1 << 20 else { return nil }
      bytes += buffer.prefix(count)
    }
  }

  private func send(_ bytes: [UInt8], to connection: Int32) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}

extension ScriptedServer.Reply {
  static func status(_ status: Int, _ headers: String...) -> Self { .http(status: status, headers: headers, body: "") }

  static func json(_ body: String, _ headers: String...) -> Self {
    .http(status: 200, headers: ["Content-Type: application/json"] + headers, body: body)
  }

  static func html(_ body: String, status: Int = 200, _ headers: String...) -> Self {
    .http(status: status, headers: ["Content-Type: text/html"] + headers, body: body)
  }

  static func text(_ body: String) -> Self { .http(status: 200, headers: ["Content-Type: text/plain"], body: body) }

  /// Returns a page of products with the given ids.
  static func page(_ ids: some Sequence<Int>, currency: String? = nil) -> Self {
    let products = ids.map {
      """
      {"id":\($0),"title":"Product \($0)","handle":"product-\($0)","images":[],"variants":[\
      {"id":\($0 * 10),"title":"Default Title","price":"\($0).50","available":true,"position":1}]}
      """
    }
    let cookies = currency.map { ["Set-Cookie: localization=XX; path=/", "Set-Cookie: cart_currency=\($0); path=/"] }
    return .http(
      status: 200, headers: ["Content-Type: application/json"] + (cookies ?? []),
      body: "{\"products\":[\(products.joined(separator: ","))]}")
  }

  static let empty = Self.json("{\"products\":[]}")
}
