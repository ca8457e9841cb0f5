import CofferLocks
import Foundation
import WatchifyCMicrohttpd

/// The state shared by the threads of a server: the shop and the stop signal.
final class ServerCore: Sendable {
  let shop: Locked<ShopState>
  /// A descriptor that is readable from the server's stop to its next start, so that all waits end.
  private let stopSign: Int32

  init(shop: ShopState) {
    self.shop = Locked(shop)
    stopSign = watchify_make_sign()
  }

  deinit { close(stopSign) }

  /// Resets the stop signal for the next start. No thread may be waiting.
  func clearStop() {
    var count: UInt64 = 0
    read(stopSign, &count, MemoryLayout<UInt64>.size)
  }

  func signalStop() {
    var one: UInt64 = 1
    write(stopSign, &one, MemoryLayout<UInt64>.size)
  }

  /// Waits for a duration; returns `false` early if the server stops or the client closes the connection.
  func wait(_ time: Duration?, client: Int32) -> Bool {
    let (seconds, attoseconds) = (time ?? .zero).components
    let milliseconds = Int32(clamping: seconds * 1_000 + attoseconds / 1_000_000_000_000_000)
    var signs = [
      pollfd(fd: stopSign, events: Int16(POLLIN), revents: 0),
      pollfd(fd: client, events: hangUp, revents: 0),
    ]
    while true {
      let result = poll(&signs, nfds_t(signs.count), time == nil ? -1 : milliseconds)
      if result < 0, errno == EINTR { continue }
      return result == 0
    }
  }

  /// Returns the response to a request, and its number in the log; `nil` for control routes, which are not logged.
  func answer(
    _ request: ReplayRequest, over socket: Int32
  ) -> (answer: Answer, latency: Duration, number: Int?) {
    if request.target.path.hasPrefix(ShopState.controlPrefix) {
      return (shop.withLock { $0.control(request) }, .zero, nil)
    }
    let (record, observer, latency) = shop.withLock { shop in
      let record = shop.arrive(request, over: socket)
      return (record, shop.configuration.onRequest, shop.configuration.latency)
    }
    observer(record)
    return (shop.withLock { $0.answer(request) }, latency, record.number)
  }
}

/// `POLLRDHUP`, which the Glibc module does not export: the peer has closed the connection.
private let hangUp = Int16(0x2000)

/// Returns whether the peer of a socket has closed it.
func hasHungUp(_ socket: Int32) -> Bool {
  var sign = pollfd(fd: socket, events: hangUp, revents: 0)
  return poll(&sign, 1, 0) > 0
}

/// One request and its response. Only used on the thread of its connection.
final class Exchange {
  static let bodyLimit = 64 << 20

  let core: ServerCore
  let target: RequestTarget
  var body: [UInt8] = []
  var isTooLarge = false
  var hasBegun = false
  /// The number in the log while the request counts as in progress.
  private var number: Int?
  private let socket: Int32

  init(core: ServerCore, target: String, socket: Int32) {
    self.core = core
    self.target = RequestTarget(target)
    self.socket = socket
  }

  deinit { leave() }

  /// Ends the request in the log, just before its last byte is sent, so that a consecutive request does not overlap.
  fileprivate func leave() {
    guard let number else { return }
    self.number = nil
    core.shop.withLock { $0.leave(number) }
  }

  func reply(to connection: OpaquePointer, method: String) -> MHD_Result {
    let request = ReplayRequest(method: method, target: target, headers: headers(of: connection), body: body)
    if isTooLarge { return send(.page(413, "Too much", "This is more than the shop takes."), over: connection) }
    let (answer, latency, number) = core.answer(request, over: socket)
    self.number = number
    let delay = latency + answer.delay
    if delay > .zero, !core.wait(delay, client: socket) { return .NO }
    if let number, answer.status > 0 { core.shop.withLock { $0.answered(number, status: answer.status) } }
    return send(answer, over: connection)
  }

  private func headers(of connection: OpaquePointer) -> [RequestRecord.Header] {
    let collected = Unmanaged.passRetained(HeaderList())
    defer { collected.release() }
    MHD_get_connection_values(connection, MHD_ValueKind.HEADER_KIND, collectHeader, collected.toOpaque())
    return collected.takeUnretainedValue().headers
  }

  private func send(_ answer: Answer, over connection: OpaquePointer) -> MHD_Result {
    let response: OpaquePointer?
    switch answer.body {
    case .reset:
      leave()
      watchify_mhd_reset(socket)
      return .NO
    case .bytes(var bytes, .full):
      response = bytes.withUnsafeMutableBytes {
        MHD_create_response_from_buffer($0.count, $0.baseAddress, .RESPMEM_MUST_COPY)
      }
      leave()
    case .bytes(let bytes, let pace):
      response = stream(BodyStream(exchange: self, bytes: bytes, size: bytes.count, pace: pace, socket: socket))
    case .filler(let size):
      let start = Array(#"{"products":["#.utf8)
      response = stream(BodyStream(exchange: self, bytes: start, size: size, pace: .full, socket: socket))
    }
    guard let response else { return .NO }
    defer { MHD_destroy_response(response) }
    for (name, value) in answer.headers { MHD_add_response_header(response, name, value) }
    return MHD_queue_response(connection, UInt32(answer.status), response)
  }

  private func stream(_ body: BodyStream) -> OpaquePointer? {
    MHD_create_response_from_callback(
      UInt64(body.size), 64 << 10, readBody, Unmanaged.passRetained(body).toOpaque(), releaseBody)
  }
}

/// A slow or faulty body. Only used on the thread of its connection.
private final class BodyStream {
  let exchange: Exchange
  let bytes: [UInt8]
  let size: Int
  let pace: Answer.Pace
  let socket: Int32

  init(exchange: Exchange, bytes: [UInt8], size: Int, pace: Answer.Pace, socket: Int32) {
    self.exchange = exchange
    self.bytes = bytes
    self.size = size
    self.pace = pace
    self.socket = socket
  }

  /// Fills the buffer with the bytes at a position; returns their number, or `nil` to end the connection.
  func read(at position: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    var count = min(size - position, buffer.count)
    switch pace {
    case .full: break
    case .slow(let bytes, let pause):
      count = min(count, bytes)
      if position > 0, !exchange.core.wait(pause, client: socket) { return nil }
    case .until(let end, let ending):
      count = min(count, end - position)
      if count <= 0 { return finish(ending) }
    }
    guard count > 0 else { return nil }
    for index in 0..<count { buffer[index] = position + index < bytes.count ? bytes[position + index] : 0x20 }
    if position + count == size { exchange.leave() }
    return count
  }

  private func finish(_ ending: Answer.Ending) -> Int? {
    switch ending {
    case .silence: _ = exchange.core.wait(nil, client: socket)
    case .reset: watchify_mhd_reset(socket)
    case .close: break
    }
    return nil
  }
}

private final class HeaderList {
  var headers: [RequestRecord.Header] = []
}

// MARK: - Callbacks, on the threads of libmicrohttpd

nonisolated func beginExchange(
  context: UnsafeMutableRawPointer?, uri: UnsafePointer<CChar>?, connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let context, let uri, let connection else { return nil }
  let core = Unmanaged<ServerCore>.fromOpaque(context).takeUnretainedValue()
  let exchange = Exchange(core: core, target: String(cString: uri), socket: watchify_mhd_socket(connection))
  return Unmanaged.passRetained(exchange).toOpaque()
}

/// Handles a request. Called once after the headers, then for each part of the body, and once after the body.
nonisolated func handleRequest(
  context: UnsafeMutableRawPointer?, connection: OpaquePointer?, url: UnsafePointer<CChar>?,
  method: UnsafePointer<CChar>?, version: UnsafePointer<CChar>?, upload: UnsafePointer<CChar>?,
  uploadSize: UnsafeMutablePointer<Int>?, state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let connection, let method, let uploadSize, let object = state?.pointee else { return .NO }
  let exchange = Unmanaged<Exchange>.fromOpaque(object).takeUnretainedValue()
  guard exchange.hasBegun else {
    exchange.hasBegun = true
    return .YES
  }
  guard uploadSize.pointee == 0 else {
    if exchange.body.count + uploadSize.pointee > Exchange.bodyLimit {
      exchange.isTooLarge = true
    } else if let upload {
      exchange.body += UnsafeRawBufferPointer(start: upload, count: uploadSize.pointee)
    }
    uploadSize.pointee = 0
    return .YES
  }
  return exchange.reply(to: connection, method: String(cString: method))
}

nonisolated func endExchange(
  context: UnsafeMutableRawPointer?, connection: OpaquePointer?,
  state: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, code: MHD_RequestTerminationCode
) {
  guard let object = state?.pointee else { return }
  Unmanaged<Exchange>.fromOpaque(object).release()
  state?.pointee = nil
}

private nonisolated func collectHeader(
  context: UnsafeMutableRawPointer?, kind: MHD_ValueKind, name: UnsafePointer<CChar>?, value: UnsafePointer<CChar>?
) -> MHD_Result {
  guard let context, let name else { return .YES }
  let header = RequestRecord.Header(name: String(cString: name), value: value.map { String(cString: $0) } ?? "")
  Unmanaged<HeaderList>.fromOpaque(context).takeUnretainedValue().headers.append(header)
  return .YES
}

private nonisolated func readBody(
  context: UnsafeMutableRawPointer?, position: UInt64, buffer: UnsafeMutablePointer<CChar>?, capacity: Int
) -> Int {
  guard let context, let buffer else { return -2 }  // MHD_CONTENT_READER_END_WITH_ERROR, a macro with a cast
  let body = Unmanaged<BodyStream>.fromOpaque(context).takeUnretainedValue()
  return body.read(at: Int(position), into: UnsafeMutableRawBufferPointer(start: buffer, count: capacity)) ?? -2
}

private nonisolated func releaseBody(context: UnsafeMutableRawPointer?) {
  if let context { Unmanaged<BodyStream>.fromOpaque(context).release() }
}
