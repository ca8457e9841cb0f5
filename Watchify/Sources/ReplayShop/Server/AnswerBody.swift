import CofferCore
import WatchifyHTTP

extension Answer {
  /// Returns the response with its pace and its ending. `presence` ends before the last byte.
  func response(to request: ReplayRequest, counting presence: Presence?) -> HTTPResponse {
    switch body {
    case .reset:
      presence?.leave()
      return HTTPResponse(200, body: .abort(.reset))
    case .bytes(let bytes, .full):
      presence?.leave()
      return HTTPResponse(status, headers: headers, body: .bytes(bytes))
    case .bytes(let bytes, let pace):
      return stream(PacedBody(bytes: bytes, size: bytes.count, pace: pace, presence: presence), to: request)
    case .filler(let size):
      let start = Array(#"{"products":["#.utf8)
      return stream(PacedBody(bytes: start, size: size, pace: .full, presence: presence), to: request)
    }
  }

  private func stream(_ body: PacedBody, to request: ReplayRequest) -> HTTPResponse {
    // The body of a response to HEAD is never read.
    if request.method == "HEAD" { body.presence?.leave() }
    return HTTPResponse(
      status, headers: headers, body: .stream(length: body.size, HTTPBodyStream { try await body.next() }))
  }
}

/// A slow or faulty body: bytes, then spaces up to a size.
private final class PacedBody: Sendable {
  private static let partSize = 64 << 10

  let size: Int
  let presence: Presence?
  private let bytes: [UInt8]
  private let pace: Answer.Pace
  private let position = Locked(0)

  init(bytes: [UInt8], size: Int, pace: Answer.Pace, presence: Presence?) {
    self.bytes = bytes
    self.size = size
    self.pace = pace
    self.presence = presence
  }

  /// Returns the next part, after a pause if the pace has one.
  func next() async throws -> [UInt8]? {
    guard let presence else { return try await part() }
    return try await presence.whileConnected { try await part() }
  }

  private func part() async throws -> [UInt8]? {
    let start = position.withLock { $0 }
    var count = min(size - start, Self.partSize)
    switch pace {
    case .full: break
    case .slow(let bytes, let pause):
      count = min(count, bytes)
      if start > 0 { try await Task.sleep(for: pause) }
    case .until(let end, let ending):
      count = min(count, end - start)
      if count <= 0 { return try await finish(ending) }
    }
    guard count > 0 else { return nil }
    position.withLock { $0 = start + count }
    if start + count == size { presence?.leave() }
    return (start..<(start + count)).map { $0 < bytes.count ? bytes[$0] : 0x20 }
  }

  private func finish(_ ending: Answer.Ending) async throws -> [UInt8]? {
    switch ending {
    case .silence:
      while true { try await Task.sleep(for: .seconds(3_600)) }
    case .reset:
      presence?.leave()
      throw HTTPAbort.reset
    case .close:
      presence?.leave()
      throw HTTPAbort.close
    }
  }
}
