import CofferCore

/// An event of a stream of server-sent events (WHATWG HTML standard, 9.2).
public struct ServerSentEvent: Sendable, Hashable {
  /// The text. Its lines are sent as such, whichever line breaks separate them.
  public var data: String
  /// The name that scripts listen to; `nil` for "message".
  public var name: String?
  /// The identifier, which clients send as `Last-Event-ID` when they connect again; `nil` to keep the last one.
  public var id: String?
  /// The time after which clients connect again; `nil` to keep the last one.
  public var retry: Duration?

  /// Creates an event. Line breaks and zero characters in `name` and `id` are dropped.
  public init(_ data: String, name: String? = nil, id: String? = nil, retry: Duration? = nil) {
    self.data = data
    self.name = name
    self.id = id
    self.retry = retry
  }

  /// The event as it is sent.
  public var bytes: [UInt8] {
    var text = ""
    if let name { text += "event: \(Self.line(name))\n" }
    if let id { text += "id: \(Self.line(id))\n" }
    if let retry { text += "retry: \(retry.milliseconds)\n" }
    // "\r\n" is one character of Swift, and all three forms end a line of the stream.
    for line in data.split(omittingEmptySubsequences: false, whereSeparator: { ["\r\n", "\n", "\r"].contains($0) }) {
      text += "data: \(line)\n"
    }
    return Array((text + "\n").utf8)
  }

  private static func line(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { !["\r", "\n", "\0"].contains($0) }))
  }
}

/// Responses and bodies of server-sent events.
///
/// The page connects with `new EventSource("/events")`. After an interruption it connects again with the last
/// identifier in the header field `Last-Event-ID`, from which the handler chooses where to continue.
public enum ServerSentEvents {
  /// The media type of a stream of events.
  public static let mediaType = "text/event-stream; charset=utf-8"

  /// Creates a response that sends the events of a sequence, and ends with it.
  /// - Parameters:
  ///   - events: the events. Iterated in tasks that are cancelled when the client is gone.
  ///   - heartbeat: the time without an event after which a comment is sent; `nil` for never.
  public static func response<Events: AsyncSequence & Sendable>(
    _ events: Events, heartbeat: Duration? = .seconds(15)
  ) -> HTTPResponse where Events.Element == ServerSentEvent {
    response(stream(events, heartbeat: heartbeat))
  }

  /// Creates a response with a body of events.
  public static func response(_ body: HTTPBodyStream) -> HTTPResponse {
    HTTPResponse(
      200, headers: [("Content-Type", mediaType), ("Cache-Control", "no-store"), ("X-Accel-Buffering", "no")],
      body: .stream(length: nil, body))
  }

  /// Creates a body that sends the events of a sequence; see ``response(_:heartbeat:)``.
  public static func stream<Events: AsyncSequence & Sendable>(
    _ events: Events, heartbeat: Duration? = .seconds(15)
  ) -> HTTPBodyStream where Events.Element == ServerSentEvent {
    let iterator = SharedIterator(events)
    return stream(heartbeat: heartbeat) { try await iterator.next() }
  }

  /// Creates a body of events from a function that returns one after another, and `nil` at the end.
  public static func stream(
    heartbeat: Duration? = .seconds(15), next: @escaping @Sendable () async throws -> ServerSentEvent?
  ) -> HTTPBodyStream {
    let stream = HTTPBodyStream { try await next()?.bytes }
    return heartbeat.map { stream.withHeartbeat(Array(":\n\n".utf8), every: $0) } ?? stream
  }
}

/// An iterator of a sequence that one task after another uses.
private final class SharedIterator<Events: AsyncSequence & Sendable>: Sendable {
  // Only accessed by the task that has set `isBusy`.
  private nonisolated(unsafe) var iterator: Events.AsyncIterator
  private let isBusy = Locked(false)

  init(_ events: Events) { iterator = events.makeAsyncIterator() }

  /// Returns the next element.
  /// - Throws: what the sequence throws, and ``HTTPAbort/close`` for a call during another one.
  func next() async throws -> Events.Element? {
    let isFirst = isBusy.withLock { isBusy in
      defer { isBusy = true }
      return !isBusy
    }
    guard isFirst else { throw HTTPAbort.close }
    defer { isBusy.withLock { $0 = false } }
    return try await iterator.next()
  }
}
