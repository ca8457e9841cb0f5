/// The parsed command line.
struct Arguments: Sendable, Equatable {
  var port: UInt16 = 0
  var products: Int?
  var variants = 4
  var seed: UInt64 = 1
  var feed: String?
  var isDemo = false
  var stepEvery: Int?
  var script: String?
  var asksForHelp = false

  static let help = """
    replay-shop: a shop on 127.0.0.1 that serves products.json as Shopify's storefronts do.

    USAGE: replay-shop [OPTIONS]

      --port PORT           the port to listen on; any free port by default
      --products N          serve N generated products (48)
      --variants M          with M variants each (4)
      --seed S              the seed of the generated products (1)
      --feed FILE           serve the products of a recorded products.json
      --demo                serve the demo's products, with a timeline of six changes
      --step-every SECONDS  advance the demo automatically; otherwise POST /_replay/advance
      --script FILE         the responses to the next requests for /products.json, one line each
      --help                show this help

    The first line of output is 'listening on http://127.0.0.1:PORT'. SIGTERM ends the shop.

    CONTROLS
      GET    /_replay/log       all requests, and how many were in flight at once, as JSON
      DELETE /_replay/log       empty the log
      POST   /_replay/advance   apply the demo's next change
      POST   /_replay/script    lines such as: normal | 429 retry-after=60 | 500 page=2 | password | html |
                                complexity | errors | empty | truncated | cut 100 | reset | reset 100 |
                                slow 100 20 | stalled 100 | oversized 1000000 | bomb 1000000 | late 50 |
                                redirect 301 URL
      POST   /_replay/mode      one such line, for all requests from now on; normal resets it
      POST   /_replay/currency  the currency for requests without one; an empty body for the shop's own
      POST   /_replay/feed      serve this recorded products.json

    """

  /// An error of the command line, as a sentence for display.
  struct Mistake: Error, Equatable, CustomStringConvertible {
    let description: String
  }

  init() {}

  init(_ words: [String]) throws(Mistake) {
    var rest = words[...]
    while let word = rest.popFirst() {
      switch word {
      case "--help", "-h": asksForHelp = true
      case "--demo": isDemo = true
      case "--port": port = try Self.number(of: word, &rest)
      case "--products": products = try Self.number(of: word, &rest, in: 0...1_000_000)
      case "--variants": variants = try Self.number(of: word, &rest, in: 1...100)
      case "--seed": seed = try Self.number(of: word, &rest)
      case "--step-every": stepEvery = try Self.number(of: word, &rest, in: 1...86_400)
      case "--feed": feed = try Self.text(of: word, &rest)
      case "--script": script = try Self.text(of: word, &rest)
      default: throw Mistake(description: "'\(word)' is not an option; see replay-shop --help.")
      }
    }
    if [isDemo, feed != nil, products != nil].filter({ $0 }).count > 1 {
      throw Mistake(description: "--demo, --feed and --products exclude each other.")
    }
    if stepEvery != nil, !isDemo { throw Mistake(description: "--step-every needs --demo, which has the steps.") }
  }

  private static func text(of option: String, _ rest: inout ArraySlice<String>) throws(Mistake) -> String {
    guard let word = rest.popFirst() else { throw Mistake(description: "\(option) needs a value.") }
    return word
  }

  private static func number<N: FixedWidthInteger>(
    of option: String, _ rest: inout ArraySlice<String>, in range: ClosedRange<N> = N.min...N.max
  ) throws(Mistake) -> N {
    let word = try text(of: option, &rest)
    guard let number = N(word), range.contains(number) else {
      throw Mistake(description: "\(option) needs a whole number from \(range.lowerBound) to \(range.upperBound).")
    }
    return number
  }
}
