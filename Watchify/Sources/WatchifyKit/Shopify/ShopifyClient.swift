import Foundation

/// A client that reads shops over the network: `/products.json`, page by page, and `/meta.json`.
///
/// Requests are limited to one at a time per process (``RequestGate``), with a delay between them; they carry a
/// `User-Agent`, follow the site's robots.txt and are conditional where the shop supports it. A response that is not a
/// product listing is thrown as a ``SyncFailure``. So is a failure in the middle of a listing, so a part of a shop is
/// never mistaken for the whole. Cookies and caches are not kept.
///
/// ```swift
/// let client = ShopifyClient()
/// let reading = try await client.read(ShopRequest(domain: "allbirds.com", country: "US"))
/// print(reading.products.count, reading.currency ?? "unknown currency")
/// ```
public final class ShopifyClient: ShopifyAPIProtocol, Sendable {
  /// The configuration of a client.
  public struct Configuration: Sendable {
    /// The number of products per page; shops serve at most 250.
    public var pageSize = 250
    /// The maximum number of pages of a listing.
    public var pageCap = 200
    /// The delay between two requests to the same shop.
    public var pagePause = Duration.seconds(1)
    /// The delay between requests to different shops.
    public var storePause = Duration.seconds(2)
    /// The maximum time without data from the server.
    public var timeout = Duration.seconds(30)
    /// The maximum time for a whole response.
    public var longestTransfer = Duration.seconds(120)
    /// The maximum size of a response in bytes, unpacked.
    public var largestBody = 16 * 1024 * 1024
    /// The approximate maximum memory for a shop's products, in bytes: 25,000 products with four variants and one image
    /// take 24 MB. A sync in which all of them change needs about four times as much.
    public var largestListing = 25 * 1024 * 1024
    /// The `User-Agent`. The part before the slash is the product token for robots.txt; the part in parentheses is
    /// information for the shop's owner, so it must not name an address other than the project's own.
    public var userAgent = "Watchify/0.1 (part of Coffer, a persistence library for Swift)"
    /// Whether delays and retries also apply to a shop on this device.
    public var sparesOwnDevice = true
    /// A file with the certificates of the authorities to trust (PEM), instead of the system's: for shops of tests.
    var authorities: URL?
    /// The maximum number of products that Shopify serves of a listing: it refuses the first page beyond them.
    var window = 25_000
    /// Whether a response comes from Shopify's own servers, so that a refusal applies to all shops.
    var isShopify: @Sendable (_ url: URL, _ peer: String?) -> Bool = ShopifyFront.serves
    /// The delays before the retries after a server error (HTTP 5xx), one per retry.
    public var retryDelays: [Duration] = [.seconds(3), .seconds(10)]

    /// Creates the default configuration.
    public init() {}
  }

  /// The size in bytes above which pages are decoded on a background thread.
  private static let largestOnTask = 256 * 1024

  private let fetcher: ShopFetcher
  /// The gate that the requests pass, which reports the pauses of shops.
  public var gate: RequestGate { fetcher.gate }
  public var requestGate: RequestGate? { gate }

  /// Creates a client. The gate supplies the clock; pass a gate other than the shared one only in tests.
  public init(configuration: Configuration = Configuration(), gate: RequestGate = .shared) {
    fetcher = ShopFetcher(configuration: configuration, gate: gate)
  }

  public func fetchProducts(domain: String) async throws -> [ShopifyProduct] {
    try await read(ShopRequest(domain: domain)).products
  }

  /// Reads the listing page by page until its end or a limit; see ``ShopReading/isComplete``.
  /// - Throws: ``SyncFailure``, ``ShopAddress/Invalid`` or `CancellationError`.
  public func read(_ request: ShopRequest) async throws -> ShopReading {
    let shop = try ShopAddress(request.domain)
    let configuration = fetcher.configuration
    var walk = ListingWalk(
      pageSize: configuration.pageSize, pageCap: configuration.pageCap, room: configuration.largestListing,
      knownIDs: request.knownIDs)
    var known: [Int: HTTPAnswer] = [:]
    if let changed = try await firstChange(of: shop, request) {
      known[changed.page] = changed.answer
    } else if !request.validators.isEmpty {
      return unchanged(shop, request)
    }
    var validators: [PageValidator?] = []
    var goesOn = true
    while goesOn {
      let number = walk.nextPage
      let answer =
        if let answer = known.removeValue(forKey: number) { answer } else {
          try await answer(for: number, of: shop, request)
        }
      validators.append(PageValidator(answer))
      do throws(FeedFault) {
        // A page beyond the window is refused with 400, or with the same message and status 200.
        if answer.status == 400 { throw Self.errors(in: answer.body) }
        let page = try await Self.decode(answer.body, room: walk.room)
        goesOn = walk.take(page, currency: ShopAnswers.currency(answer), bytes: answer.body.count)
      } catch {
        switch error {
        case .errors(let words) where number > 1 && isBeyondWindow(number) && Self.isLimit(words):
          walk.endOfWindow(words.isEmpty ? nil : words)
        case .errors(let words) where number > 1:
          let words = words.isEmpty ? "" : ": " + words.prefix(200).trimmingCharacters(in: .punctuationCharacters)
          throw SyncFailure.incomplete(reason: "The store answered page \(number) of its list with an error\(words).")
        case .tooLarge where number > 1: walk.endOfRoom()
        default: throw Self.fault(of: error, in: answer, page: number)
        }
        goesOn = false
      }
      fetcher.gate.served(shop)
      request.progress?(walk.reading.products.count, number)
    }
    var reading = walk.reading
    reading.host = fetcher.domain(of: shop)
    if reading.isComplete, validators.allSatisfy({ $0 != nil }) { reading.validators = validators.compactMap { $0 } }
    return reading
  }

  /// Sends conditional requests page by page and returns the first page that has changed, with its response, or from
  /// which the currency has, without one; `nil` if none has, or if there are no validators.
  private func firstChange(
    of shop: ShopAddress, _ request: ShopRequest
  ) async throws -> (page: Int, answer: HTTPAnswer?)? {
    for (index, validator) in request.validators.enumerated() {
      let answer = try await answer(for: index + 1, of: shop, request, unless: validator)
      guard answer.status == 304 else { return (index + 1, answer) }
      fetcher.gate.served(shop)
      // A tag is that of the text, in which the currency does not appear.
      if let currency = ShopAnswers.currency(answer), currency != request.currency { return (index + 1, nil) }
    }
    return nil
  }

  private func unchanged(_ shop: ShopAddress, _ request: ShopRequest) -> ShopReading {
    var reading = ShopReading(products: [], isComplete: true, pages: request.validators.count)
    reading.isUnchanged = true
    reading.validators = request.validators
    reading.host = fetcher.domain(of: shop)
    return reading
  }

  /// Returns the shop's description. A part that the shop does not serve is `nil`.
  /// - Throws: ``SyncFailure``: `resting`, `networkUnavailable`, `networkTimeout`, `unreachable`, `serverError` or
  ///   `privateAddress`; ``ShopAddress/Invalid``; `CancellationError`.
  public func describe(_ request: ShopRequest) async throws -> ShopDescription {
    let shop = try ShopAddress(request.domain)
    do {
      let answer = try await fetcher.answer(
        to: .init(
          shop: shop, path: "/meta.json", headers: request.headers, largestBody: ShopAnswers.largestDescription))
      return answer.status == 200 ? ShopAnswers.description(answer.body) : ShopDescription()
    } catch let error as SyncFailure {
      switch error {
      // Without its currency, moves of the shop's exchange rate could be reported as price changes.
      case .networkUnavailable(.lost): return ShopDescription()
      case .invalidResponse(.resting), .networkUnavailable, .networkTimeout, .serverError: throw error
      default: return ShopDescription()
      }
    }
  }

  /// Returns the response to a request for a page: a success, 400, or 304 if the page still matches `validator`.
  private func answer(
    for page: Int, of shop: ShopAddress, _ request: ShopRequest, unless validator: PageValidator? = nil
  ) async throws -> HTTPAnswer {
    var query = [
      URLQueryItem(name: "limit", value: String(fetcher.configuration.pageSize)),
      URLQueryItem(name: "page", value: String(page)),
    ]
    if let country = request.country, !country.isEmpty { query.append(URLQueryItem(name: "country", value: country)) }
    do {
      let answer = try await fetcher.answer(
        to: .init(
          shop: shop, path: "/products.json", query: query, headers: request.headers + (validator?.headers ?? [])))
      let isExpected = (200...299).contains(answer.status) || answer.status == 400
      guard isExpected || validator != nil && answer.status == 304 else { throw SyncFailure.invalidResponse() }
      return answer
    } catch SyncFailure.invalidResponse(.notShopify) where page > 1 {
      // Earlier pages had products.
      throw SyncFailure.invalidResponse()
    }
  }

  private static func decode(_ body: Data, room: Int) async throws(FeedFault) -> FeedPage {
    guard body.count > largestOnTask else { return try FeedDecoder.decode(body, room: room) }
    typealias Outcome = CheckedContinuation<Result<FeedPage, FeedFault>, Never>
    let result = await withCheckedContinuation { (continuation: Outcome) in
      DispatchQueue.global(qos: .utility).async {
        continuation.resume(returning: Result { () throws(FeedFault) in try FeedDecoder.decode(body, room: room) })
      }
    }
    return try result.get()
  }

  /// Returns the error message of a 400 response, which may be empty.
  private static func errors(in body: Data) -> FeedFault {
    do throws(FeedFault) {
      _ = try FeedDecoder.decode(body)
      return .errors("")
    } catch {
      guard case .errors = error else { return .errors("") }
      return error
    }
  }

  /// Whether a page ends beyond the window, so that its refusal is expected.
  private func isBeyondWindow(_ page: Int) -> Bool {
    page * fetcher.configuration.pageSize > fetcher.configuration.window
  }

  /// Whether a message is the one with which a shop ends its window, such as "Page * Limit exceeds the 25000 limit."
  /// The message of a 400 may be empty.
  private static func isLimit(_ words: String) -> Bool {
    let words = words.lowercased()
    return words.isEmpty || words.contains("limit") && words.contains("page")
  }

  private static func fault(of fault: FeedFault, in answer: HTTPAnswer, page: Int) -> SyncFailure {
    switch fault {
    case .notJSON where !answer.body.isEmpty:
      ShopAnswers.fault(ofPage: answer) ?? (page == 1 ? .notShopify : .invalidResponse())
    case .noProducts where page == 1: .notShopify
    case .tooLarge: .incomplete(reason: "The store's first page lists more than Watchify can hold.")
    default: .invalidResponse()
    }
  }
}
