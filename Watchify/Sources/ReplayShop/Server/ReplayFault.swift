/// What can go wrong with a shop's answer.
public enum ReplayFault: Sendable, Hashable {
  /// A status with the body that storefronts send with it; 401, 402, 403, 404, 423, 429, 430 and 500 have one.
  ///
  /// - Parameter retryAfter: the header's text, seconds or a date.
  case status(Int, retryAfter: String? = nil)
  /// The shop is closed by a password: 302 to `/password`.
  case password
  /// A web page with 200, as a front that knows no feed sends.
  case html
  /// 500 with the header `shopify-complexity-score`, which goes away by itself.
  case complexity
  /// `errors` where `products` should be, with 200.
  case errors(String = "Something went wrong.")
  /// A list without products.
  case empty
  /// JSON that ends in the middle, in an answer that is complete.
  case truncated
  /// The connection closes after so many bytes of a longer body.
  case cut(after: Int)
  /// The connection is reset before anything is answered.
  case reset
  /// The connection is reset after so many bytes of a longer body.
  case resetInBody(after: Int)
  /// The right body, so many bytes at a time, with a pause after each.
  case slow(bytes: Int, pause: Duration)
  /// The right body up to a point, and nothing more until the client gives up.
  case stalled(after: Int = 0)
  /// A body of so many bytes, which no shop has.
  case oversized(bytes: Int)
  /// A body of so many bytes when it is unpacked, and of a thousandth of them on its way.
  case bomb(bytes: Int)
  /// These bytes, called JSON, and packed as the header says, if it is there.
  case body([UInt8], encoding: String? = nil)
  /// The right answer, late.
  case late(Duration)
  /// Another address, by status and target: 301 to a name that is not the shop's, for instance.
  case redirect(Int, to: String)
}

/// What happens to one of the coming requests for `/products.json`.
public struct ScriptEntry: Sendable, Hashable {
  /// What goes wrong; nothing in an entry that lets one request pass.
  public let fault: ReplayFault?
  /// The page that it waits for; without one it is for the next request, whatever its page.
  public let page: Int?

  /// Lets one request pass.
  public static let normal = ScriptEntry(fault: nil, page: nil)

  /// Lets one request for this page pass.
  public static func normal(page: Int) -> ScriptEntry { ScriptEntry(fault: nil, page: page) }

  /// Lets this go wrong with one request, for a page if you say so.
  public static func fault(_ fault: ReplayFault, page: Int? = nil) -> ScriptEntry {
    ScriptEntry(fault: fault, page: page)
  }
}

extension ScriptEntry {
  /// An entry from a line of words: `normal`, `429 retry-after=60`, `500 page=2`, `slow 100 20` (bytes, milliseconds),
  /// `stalled 10`, `cut 10`, `reset`, `reset 10`, `oversized 1000000`, `bomb 1000000`, `late 50`,
  /// `redirect 301 http://other/`,
  /// `password`, `html`, `complexity`, `errors`, `empty`, `truncated`. `page=2` makes any of them wait for that page;
  /// the text of `retry-after=` goes on to the end of the line.
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
