/// A fault of a shop's response.
public enum ReplayFault: Sendable, Hashable {
  /// A status with the body that storefronts send with it; 401, 402, 403, 404, 423, 429, 430 and 500 have one.
  ///
  /// - Parameter retryAfter: the header's text, seconds or a date.
  case status(Int, retryAfter: String? = nil)
  /// The shop is closed by a password: 302 to `/password`.
  case password
  /// A web page with 200, as sent by a custom storefront without a feed.
  case html
  /// 500 with the header `shopify-complexity-score`, which is temporary.
  case complexity
  /// `errors` where `products` should be, with 200.
  case errors(String = "Something went wrong.")
  /// A list without products.
  case empty
  /// Truncated JSON in a complete response.
  case truncated
  /// The connection is closed after a number of bytes of a longer body.
  case cut(after: Int)
  /// The connection is reset before the response.
  case reset
  /// The connection is reset after a number of bytes of a longer body.
  case resetInBody(after: Int)
  /// The correct body, a number of bytes at a time, with a pause after each part.
  case slow(bytes: Int, pause: Duration)
  /// The correct body up to a number of bytes, then nothing until the client closes the connection.
  case stalled(after: Int = 0)
  /// A body of a number of bytes, larger than any real one.
  case oversized(bytes: Int)
  /// A body that unpacks to a number of bytes, compressed to about a thousandth of them.
  case bomb(bytes: Int)
  /// The given bytes as JSON, with a `Content-Encoding` if given; the bytes must match it.
  case body([UInt8], encoding: String? = nil)
  /// The correct response after a delay.
  case late(Duration)
  /// A redirect with a status and target, such as 301 to another host.
  case redirect(Int, to: String)
}

/// A scripted response to one of the next requests for `/products.json`.
public struct ScriptEntry: Sendable, Hashable {
  /// The fault; `nil` for a correct response.
  public let fault: ReplayFault?
  /// The page that the entry applies to; `nil` for the next request of any page.
  public let page: Int?

  /// An entry for a correct response to the next request.
  public static let normal = ScriptEntry(fault: nil, page: nil)

  /// Returns an entry for a correct response to a request for a page.
  public static func normal(page: Int) -> ScriptEntry { ScriptEntry(fault: nil, page: page) }

  /// Returns an entry for a fault of one request, optionally for a page.
  public static func fault(_ fault: ReplayFault, page: Int? = nil) -> ScriptEntry {
    ScriptEntry(fault: fault, page: page)
  }
}

extension ScriptEntry {
  /// Parses an entry: `normal`, `429 retry-after=60`, `500 page=2`, `slow 100 20` (bytes, milliseconds), `stalled 10`,
  /// `cut 10`, `reset`, `reset 10`, `oversized 1000000`, `bomb 1000000`, `late 50`, `redirect 301 http://other/`,
  /// `password`, `html`, `complexity`, `errors`, `empty`, `truncated`. `page=2` restricts an entry to that page; the
  /// value of `retry-after=` extends to the end of the line.
  public init(_ line: String) throws(ReplayError) {
    var words = line.split(separator: " ").map(String.init)
    var retryAfter: String?
    var page: Int?
    if let index = words.firstIndex(where: { $0.hasPrefix("page=") }) {
      guard let number = Int(words.remove(at: index).dropFirst("page=".count)) else { throw .notAScript(line: line) }
      page = number
    }
    if let index = words.firstIndex(where: { $0.hasPrefix("retry-after=") }) {
      retryAfter = String(words[index...].joined(separator: " ").dropFirst("retry-after=".count))
      words.removeSubrange(index...)
    }
    guard let name = words.first else { throw .notAScript(line: line) }
    let numbers = words.dropFirst().map { Int($0) }
    if let status = Int(name), (100...999).contains(status), numbers.isEmpty {
      self.init(fault: .status(status, retryAfter: retryAfter), page: page)
    } else if name == "normal", numbers.isEmpty {
      self.init(fault: nil, page: page)
    } else if name == "redirect", words.count == 3, let status = numbers[0], (300...399).contains(status) {
      self.init(fault: .redirect(status, to: words[2]), page: page)
    } else {
      let whole = numbers.compactMap { $0 }.filter { $0 >= 0 }
      guard whole.count == numbers.count, let fault = Self.fault(name, whole) else { throw .notAScript(line: line) }
      self.init(fault: fault, page: page)
    }
  }

  private static func fault(_ name: String, _ numbers: [Int]) -> ReplayFault? {
    switch (name, numbers.count) {
    case ("password", 0): .password
    case ("html", 0): .html
    case ("complexity", 0): .complexity
    case ("errors", 0): .errors()
    case ("empty", 0): .empty
    case ("truncated", 0): .truncated
    case ("cut", 1): .cut(after: numbers[0])
    case ("reset", 0): .reset
    case ("reset", 1): .resetInBody(after: numbers[0])
    case ("slow", 2): .slow(bytes: numbers[0], pause: .milliseconds(numbers[1]))
    case ("stalled", 0): .stalled()
    case ("stalled", 1): .stalled(after: numbers[0])
    case ("oversized", 1): .oversized(bytes: numbers[0])
    case ("bomb", 1): .bomb(bytes: numbers[0])
    case ("late", 1): .late(.milliseconds(numbers[0]))
    default: nil
    }
  }
}
