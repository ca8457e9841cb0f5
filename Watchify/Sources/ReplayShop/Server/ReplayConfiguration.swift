public import Foundation

/// The configuration of a replay shop, apart from its products.
public struct ReplayConfiguration: Sendable {
  /// The response to requests for lists that end beyond the window.
  public enum WindowAnswer: Sendable, Hashable {
    /// Status 400, as documented.
    case badRequest
    /// The same body with status 200, which has been observed.
    case ok
  }

  /// The shop's name.
  public var name = ShopWords.shop
  /// The shop's own address, as `/meta.json` states it.
  public var domain = "demo.example"
  /// The shop's permanent name, as `/meta.json` states it.
  public var permanentDomain = "demo.myshopify.example"
  /// The shop's base currency.
  public var currency = "USD"
  /// The shop's own country.
  public var country = "US"
  /// The other markets, selected by `?country=` or `?currency=`.
  public var markets = Market.some
  /// Whether responses state the served currency as `Set-Cookie: cart_currency=`.
  public var statesCurrency = true
  /// The text of `/robots.txt`; if `nil`, the response is 404.
  public var robots: String? = "User-agent: *\nDisallow: /admin\nDisallow: /cart\n"
  /// Whether bodies are compressed for clients that accept gzip.
  public var compresses = true
  /// Whether lists have an `ETag` and `If-None-Match` is answered with 304.
  public var tagsEntities = true
  /// The canonical host with its port; requests to other hosts are redirected to it with 301. `nil` to accept any host.
  public var canonicalHost: String?
  /// The number of products filtered out at the end of a page, by page: 5 on page 1 leaves 245 of 250.
  public var leftOut: [Int: Int] = [:]
  /// The pages that are empty although more follow.
  public var emptyPages: Set<Int> = []
  /// The page after whose first response a new product is inserted at the front and shifts the others; `nil` for none.
  public var shiftsAfterPage: Int?
  /// The last page that has products, however many the shop has; `nil` for no limit.
  public var lastPage: Int?
  /// Whether every page is the first one, as with some custom storefronts.
  public var ignoresPage = false
  /// The maximum value of `page * limit`.
  public var window = 25_000
  /// The response beyond `window`.
  public var windowAnswer = WindowAnswer.badRequest
  /// Returns the fault of a request, by its path with the query, including robots.txt; `nil` for none.
  public var faults: @Sendable (_ target: String) -> ReplayFault? = { _ in nil }
  /// The delay of every response, so that concurrent requests overlap.
  public var latency = Duration.zero
  /// The prefix of images that are given as a file name; `nil` for this server, which draws them.
  public var imageBase: String?
  /// Returns the date for the log of requests.
  public var now: @Sendable () -> Date = { Date() }
  /// Called for each request on arrival, on a thread of the server. Must not block.
  public var onRequest: @Sendable (RequestRecord) -> Void = { _ in }

  /// Creates the default configuration.
  public init() {}

  /// Returns the market for a request; `nil` for the shop's own.
  func market(for target: RequestTarget, served: String?) -> Market? {
    if let wanted = target.value(of: "currency")?.uppercased() {
      if wanted == currency { return nil }
      if let market = markets.first(where: { $0.currency == wanted }) { return market }
    }
    if let wanted = target.value(of: "country")?.uppercased() {
      if wanted == country { return nil }
      if let market = markets.first(where: { $0.country == wanted }) { return market }
    }
    return served.flatMap { served in markets.first { $0.currency == served } }
  }
}

/// A logged request and the status of its response.
public struct RequestRecord: Sendable, Hashable {
  /// A header as received.
  public struct Header: Sendable, Hashable {
    /// The name, in the client's spelling.
    public let name: String
    /// The text after the colon.
    public let value: String
  }

  /// The ordinal of the request, from 0.
  public let number: Int
  /// The date of arrival.
  public let time: Date
  /// The HTTP method, such as `GET`.
  public let method: String
  /// The path with the query, as received.
  public let target: String
  /// The headers, in order.
  public let headers: [Header]
  /// The number of requests in progress on arrival, including this one.
  public let inFlight: Int
  /// The status of the response; `nil` before it is sent, and for a connection that was reset.
  public internal(set) var status: Int?

  /// Returns the value of the first header with a name, in any case.
  public func header(_ name: String) -> String? {
    headers.first { $0.name.lowercased() == name.lowercased() }?.value
  }
}

/// The path and the query of a request.
struct RequestTarget: Sendable, Hashable {
  let raw: String
  let path: String
  private let items: [(name: String, value: String)]

  init(_ raw: String) {
    self.raw = raw
    let parts = raw.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = parts.first.map(String.init) ?? "/"
    items = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { item in
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let value = pair.count > 1 ? String(pair[1]) : ""
      return (String(pair[0]), value.removingPercentEncoding ?? value)
    }
  }

  func value(of name: String) -> String? { items.first { $0.name == name }?.value }

  /// The page, from 1; 1 if missing or invalid.
  var page: Int { value(of: "page").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } ?? 1 }

  /// The number of products per page, at most 250; 30 if missing or invalid.
  var limit: Int { min(250, value(of: "limit").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } ?? 30) }

  static func == (left: Self, right: Self) -> Bool { left.raw == right.raw }
  func hash(into hasher: inout Hasher) { hasher.combine(raw) }
}
