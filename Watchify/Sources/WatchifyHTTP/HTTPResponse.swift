/// A response of a server.
///
/// ```swift
/// HTTPResponse(200, "text/plain; charset=utf-8", "Hello")
/// ```
public struct HTTPResponse: Sendable {
  /// The body of a response.
  public enum Body: Sendable {
    /// All bytes at once, with their number in `Content-Length`.
    case bytes([UInt8])
    /// Parts that become available over time. `length` is the number of bytes in all, or `nil` for the chunked coding.
    case stream(length: Int?, HTTPBodyStream)
    /// No response: the connection is ended as stated.
    case abort(HTTPAbort)
  }

  /// The status, such as 200.
  public var status: Int
  /// The header fields in the order in which they are sent.
  public var headers: [(name: String, value: String)]
  /// The body.
  public var body: Body

  /// Creates a response with bytes.
  public init(_ status: Int, _ type: String, _ bytes: [UInt8]) {
    self.init(status, headers: [("Content-Type", type)], body: .bytes(bytes))
  }

  /// Creates a response with a text, sent as UTF-8.
  public init(_ status: Int, _ type: String, _ text: String) { self.init(status, type, Array(text.utf8)) }

  /// Creates a response.
  public init(_ status: Int, headers: [(name: String, value: String)] = [], body: Body = .bytes([])) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// Creates a redirection. 303 makes the client repeat with GET (RFC 9110, 15.4.4).
  public static func redirect(_ status: Int = 303, to location: String) -> HTTPResponse {
    HTTPResponse(status, headers: [("Location", location)])
  }

  /// Returns the response with a further header field.
  public func with(_ name: String, _ value: String) -> HTTPResponse {
    var response = self
    response.headers.append((name, value))
    return response
  }

  /// Returns the first value of a header field; `nil` if the response has none of that name.
  public func header(_ name: String) -> String? {
    let name = name.lowercased()
    return headers.first { $0.name.lowercased() == name }?.value
  }
}

/// How a connection ends without a whole response.
public enum HTTPAbort: Error, Sendable, Hashable {
  /// The connection is closed in order (FIN).
  case close
  /// The connection is reset (RST).
  case reset
}

/// The parts of a body, produced while the client reads it.
///
/// The server calls `next` once the previous part has been handed to the socket, so a slow client holds back the
/// producer and no more than one part is in memory. Calls never overlap. A call is cancelled when the client closes the
/// connection or the server stops; a connection that ends between two calls only releases the function. An empty part
/// is skipped.
public struct HTTPBodyStream: Sendable {
  /// Returns the next part; `nil` ends the body in order, and throwing ``HTTPAbort`` ends the connection as stated (any
  /// other error like ``HTTPAbort/close``).
  public let next: @Sendable () async throws -> [UInt8]?

  /// What is sent while `next` takes long; `nil` for nothing.
  var heartbeat: (bytes: [UInt8], interval: Duration)?

  /// Creates a body from a function that returns one part after another.
  public init(next: @escaping @Sendable () async throws -> [UInt8]?) { self.next = next }

  /// Returns the body with bytes that the server sends whenever `next` has not returned for a time, and that the client
  /// ignores. They keep the connection open in between, and reveal clients that are gone.
  ///
  /// Only for bodies without a length.
  public func withHeartbeat(_ bytes: [UInt8], every interval: Duration) -> HTTPBodyStream {
    var stream = self
    stream.heartbeat = (bytes, interval)
    return stream
  }
}
