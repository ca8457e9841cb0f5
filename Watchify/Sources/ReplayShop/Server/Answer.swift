/// A response of a shop.
struct Answer: Sendable {
  /// The pace at which a body is sent.
  enum Pace: Sendable, Hashable {
    /// As fast as the client reads.
    case full
    /// A number of bytes at a time, with a pause after each part.
    case slow(bytes: Int, pause: Duration)
    /// A number of bytes, then silence or the end of the connection.
    case until(Int, Ending)
  }

  enum Ending: Sendable, Hashable { case silence, close, reset }

  enum Body: Sendable {
    case bytes([UInt8], Pace)
    /// The beginning of a list, then spaces up to a size in bytes.
    case filler(Int)
    /// No response: the connection is reset.
    case reset
  }

  var status: Int
  var headers: [(name: String, value: String)] = []
  var body: Body
  /// The delay before the response is sent.
  var delay = Duration.zero

  init(_ status: Int, _ type: String, _ text: String) {
    self.init(status, type, Array(text.utf8))
  }

  init(_ status: Int, _ type: String, _ bytes: [UInt8], pace: Pace = .full) {
    self.status = status
    headers = [("Content-Type", type)]
    body = .bytes(bytes, pace)
  }

  init(status: Int, body: Body) {
    self.status = status
    self.body = body
  }

  func with(_ name: String, _ value: String) -> Answer {
    var answer = self
    answer.headers.append((name, value))
    return answer
  }

  static let json = "application/json; charset=utf-8"
  static let html = "text/html; charset=utf-8"
  static let plain = "text/plain; charset=utf-8"

  static func page(_ status: Int, _ title: String, _ text: String) -> Answer {
    Answer(
      status, html,
      """
      <!doctype html><html lang="en"><head><meta charset="utf-8"><title>\(title)</title></head>
      <body><h1>\(title)</h1><p>\(text)</p></body></html>

      """)
  }

  static func redirect(_ status: Int, to location: String) -> Answer {
    page(status, "Moved", "It is somewhere else.").with("Location", location)
  }

  /// Returns a response with a status and the body that storefronts send with it.
  static func failure(_ status: Int, retryAfter: String?) -> Answer {
    var answer =
      switch status {
      case 429: Answer(429, plain, "local_rate_limited")
      case 430: Answer(430, json, #"{"errors":"Shopify Security Rejection"}"#)
      case 401: page(401, "Password needed", "This shop opens with a password.")
      case 402: page(402, "Payment required", "This shop is frozen.")
      case 403: page(403, "Just a moment…", "Checking that you are a person.")
      case 404: page(404, "Not found", "There is nothing here.")
      case 423: page(423, "Locked", "This shop is locked.")
      default: page(status, "Error \(status)", "Something went wrong.")
      }
    if let retryAfter { answer.headers.append(("Retry-After", retryAfter)) }
    return answer
  }
}

extension ReplayFault {
  /// Returns the response with the fault; `right` is the response without it.
  func answer(insteadOf right: @autoclosure () -> Answer) -> Answer {
    switch self {
    case .status(let status, let retryAfter): .failure(status, retryAfter: retryAfter)
    case .password: .redirect(302, to: "/password")
    case .html: .page(200, "Welcome", "A front without a feed.")
    case .complexity: Answer.failure(500, retryAfter: nil).with("shopify-complexity-score", "1024")
    case .errors(let text):
      Answer(
        200, Answer.json,
        WireWriter.object {
          $0.raw("\"errors\":")
          $0.string(text)
        })
    case .empty: Answer(200, Answer.json, #"{"products":[]}"#)
    case .truncated: right().changed { Array($0[..<($0.count / 2)]) }
    case .cut(let count): right().paced(.until(count, .close))
    case .resetInBody(let count): right().paced(.until(count, .reset))
    case .reset: Answer(status: 0, body: .reset)
    case .slow(let bytes, let pause): right().paced(.slow(bytes: max(1, bytes), pause: pause))
    case .stalled(let count): right().paced(.until(count, .silence))
    case .oversized(let bytes): Answer(status: 200, body: .filler(bytes)).with("Content-Type", Answer.json)
    case .bomb(let bytes):
      Answer(200, Answer.json, gzipBomb(bytes)).with("Content-Encoding", "gzip")
    case .body(let bytes, nil): Answer(200, Answer.json, bytes)
    case .body(let bytes, let encoding?): Answer(200, Answer.json, bytes).with("Content-Encoding", encoding)
    case .late(let delay): right().late(delay)
    case .redirect(let status, let location): .redirect(status, to: location)
    }
  }
}

extension Answer {
  fileprivate func changed(_ change: ([UInt8]) -> [UInt8]) -> Answer {
    guard case .bytes(let bytes, let pace) = body else { return self }
    var answer = self
    answer.body = .bytes(change(bytes), pace)
    return answer
  }

  fileprivate func paced(_ pace: Pace) -> Answer {
    guard case .bytes(let bytes, _) = body else { return self }
    var answer = self
    answer.body = .bytes(bytes, pace)
    return answer
  }

  fileprivate func late(_ delay: Duration) -> Answer {
    var answer = self
    answer.delay = delay
    return answer
  }
}

extension WireWriter {
  /// Returns the bytes of a JSON object with the given members.
  static func object(_ members: (inout WireWriter) -> Void) -> [UInt8] {
    var writer = WireWriter()
    writer.raw("{")
    members(&writer)
    writer.raw("}")
    return writer.bytes
  }
}
