public import Foundation

/// How a replay shop presents itself, beside its products.
public struct ReplayConfiguration: Sendable {
  /// What to do about lists that end beyond the window.
  public enum WindowAnswer: Sendable, Hashable {
    /// 400, as documented.
    case badRequest
    /// The same body with 200, which was met once.
    case ok
  }

  /// The shop's name.
  public var name = ShopWords.shop
  /// The shop's own address, as `/meta.json` states it.
  public var domain = "demo.example"
  /// The shop's permanent name, as `/meta.json` states it.
  public var permanentDomain = "demo.myshopify.example"
  /// The currency that the shop reckons in.
  public var currency = "USD"
  /// The country that the shop is in.
  public var country = "US"
  /// Other countries, by `?country=` or `?currency=`.
  public var markets = Market.some
  /// Whether answers state the served currency, as `Set-Cookie: cart_currency=`.
  public var statesCurrency = true
  /// The text of `/robots.txt`; without one the answer is 404.
  public var robots: String? = "User-agent: *\nDisallow: /admin\nDisallow: /cart\n"
  /// Whether bodies are compressed for clients that accept gzip.
  public var compresses = true
  /// Whether lists have an `ETag` and `If-None-Match` is answered with 304.
  public var tagsEntities = true
  /// The one name, with its port, under which the shop answers; requests under others are sent there with 301.
  public var canonicalHost: String?
  /// How many products are filtered out at the end of a page, by page: 5 on page 1 makes 245 of 250.
  public var leftOut: [Int: Int] = [:]
  /// Pages that are empty although more follow.
  public var emptyPages: Set<Int> = []
  /// After this page was served for the first time, a new product comes to the front and shifts the others.
  public var shiftsAfterPage: Int?
  /// The last page that has products, whatever the shop has.
  public var lastPage: Int?
  /// Whether every page is the first one, as behind some fronts.
  public var ignoresPage = false
  /// How far `page * limit` may go.
  public var window = 25_000
  /// What lies beyond it.
  public var windowAnswer = WindowAnswer.badRequest
  /// What goes wrong with a request, by its path with the query; robots.txt is among them.
  public var faults: @Sendable (_ target: String) -> ReplayFault? = { _ in nil }
  /// Every answer takes so long, so that requests that come together are in flight together.
  public var latency = Duration.zero
  /// Stands before pictures that have only a file's name; `nil` is this server, which draws them.
  public var imageBase: String?
  /// The time that the log of requests goes by.
  public var now: @Sendable () -> Date = { Date() }
  /// Called for each request as it arrives, on a thread of the server: do not wait in it.
  public var onRequest: @Sendable (RequestRecord) -> Void = { _ in }

  /// A shop without peculiarities.
  public init() {}

  /// The market that a request is served, and how to quote its prices; no market is the shop's own.
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

/// What a replay shop was asked, and what it answered.
public struct RequestRecord: Sendable, Hashable {
  /// A header as it came.
  public struct Header: Sendable, Hashable {
    /// The name as the client wrote it.
    public let name: String
    /// The text behind the colon.
    public let value: String
  }

  /// The place among all requests, from 0.
  public let number: Int
  /// When it arrived.
  public let time: Date
  /// `GET`.
  public let method: String
  /// The path with the query, as it was sent.
  public let target: String
  /// The headers, in order.
  public let headers: [Header]
  /// How many requests were being answered when it arrived, this one included.
  public let inFlight: Int
  /// The status it was answered with; `nil` until then, and for a connection that was reset.
  public internal(set) var status: Int?

  /// The first header of this name, in whatever case.
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

  /// From 1; what is not a page is the first one.
  var page: Int { value(of: "page").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } ?? 1 }

  /// 30 unless something sensible is asked for, and never more than 250.
  var limit: Int { min(250, value(of: "limit").flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil } ?? 30) }

  static func == (left: Self, right: Self) -> Bool { left.raw == right.raw }
  func hash(into hasher: inout Hasher) { hasher.combine(raw) }
}
