import Foundation

/// Reads shops over the network: `/products.json`, page by page, and `/meta.json`.
///
/// It asks politely: one request at a time in the whole process (``RequestGate``), with pauses, under its own name,
/// within the site's robots.txt, and for what has changed only, where a shop says what that is. What was asked for and
/// is no list of products is thrown as a ``SyncError``; a fault in the middle of a listing throws too, so a part of a
/// shop is never taken for the whole. Nothing is kept of what a shop sets: no cookies, no cache.
///
/// ```swift
/// let client = ShopifyClient()
/// let reading = try await client.read(ShopRequest(domain: "allbirds.com", country: "US"))
/// print(reading.products.count, reading.currency ?? "unknown currency")
/// ```
public final class ShopifyClient: ShopifyAPIProtocol, Sendable {
  /// How a client asks.
  public struct Configuration: Sendable {
    /// Products on a page; shops serve 250 at most.
    public var pageSize = 250
    /// Pages of a listing at most.
    public var pageCap = 200
    /// Between two requests to one shop.
    public var pagePause = Duration.seconds(1)
    /// Between requests to two shops.
    public var storePause = Duration.seconds(2)
    /// How long a server may be silent.
    public var timeout = Duration.seconds(30)
    /// How long an answer may take as a whole.
    public var longestTransfer = Duration.seconds(120)
    /// Bytes of an answer, unpacked, at most.
    public var largestBody = 16 * 1024 * 1024
    /// Bytes of memory that a shop's products may take, about: 25,000 products with four variants and a picture take
    /// 24 MB. A sync in which all of it changes needs some four times as many.
    public var largestListing = 25 * 1024 * 1024
    /// Who asks. What stands before the slash is looked for in robots.txt; what stands in brackets is where a shop's
    /// owner finds out more, so no address stands there that is not the project's own.
    public var userAgent = "Watchify/0.1 (part of Coffer, a persistence library for Swift)"
    /// Whether a shop on this very device is spared like the others: its pauses and repetitions.
    public var sparesOwnDevice = true
    /// How many products Shopify serves of a listing at most: it refuses the first page beyond them.
    var window = 25_000
    /// Whether an answer comes from Shopify's own front, so that its refusal is meant for the reader of any shop.
    var isShopify: @Sendable (_ url: URL, _ peer: String?) -> Bool = ShopifyFront.serves
    /// Before each repetition after a fault of the server (HTTP 5xx).
    public var retryDelays: [Duration] = [.seconds(3), .seconds(10)]

    /// The usual ones.
    public init() {}
  }

  /// Larger pages are decoded on a thread that may take its time.
  private static let largestOnTask = 256 * 1024

  private let fetcher: ShopFetcher
  /// What its requests go through: it tells whether all shops are left in peace, and until when.
  public var gate: RequestGate { fetcher.gate }
  public var requestGate: RequestGate? { gate }

  /// A client. The gate brings the clock; give it another one in tests only.
  public init(configuration: Configuration = Configuration(), gate: RequestGate = .shared) {
    fetcher = ShopFetcher(configuration: configuration, gate: gate)
  }

  public func fetchProducts(domain: String) async throws -> [ShopifyProduct] {
    try await read(ShopRequest(domain: domain)).products
  }

  /// Walks through the listing until its end, as ``ShopReading`` tells.
  /// - Throws: ``SyncError``, ``ShopAddress/Invalid`` or `CancellationError`.
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
        // A page beyond the window is refused with 400, or with the same words under 200.
        if answer.status == 400 { throw Self.errors(in: answer.body) }
        let page = try await Self.decode(answer.body, room: walk.room)
        goesOn = walk.take(page, currency: ShopAnswers.currency(answer), bytes: answer.body.count)
      } catch {
        switch error {
        case .errors(let words) where number > 1 && isBeyondWindow(number) && Self.isLimit(words):
          walk.endOfWindow(words.isEmpty ? nil : words)
        case .errors(let words) where number > 1:
          let words = words.isEmpty ? "" : ": " + words.prefix(200).trimmingCharacters(in: .punctuationCharacters)
          throw SyncError.incomplete(reason: "The store answered page \(number) of its list with an error\(words).")
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

  /// Asks page by page whether it has changed, until one has; `nil` where none has, or where nothing is known to
  /// compare with. The page that has is not asked for again.
  private func firstChange(
    of shop: ShopAddress, _ request: ShopRequest
  ) async throws -> (page: Int, answer: HTTPAnswer)? {
    for (index, validator) in request.validators.enumerated() {
      let answer = try await answer(for: index + 1, of: shop, request, unless: validator)
      guard answer.status == 304 else { return (index + 1, answer) }
      fetcher.gate.served(shop)
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

  /// Everything that shops may leave out is missing when it cannot be had.
  /// - Throws: ``SyncError``: `resting`, `networkUnavailable` or `unreachable`; ``ShopAddress/Invalid``;
  ///   `CancellationError`.
  public func describe(_ request: ShopRequest) async throws -> ShopDescription {
    let shop = try ShopAddress(request.domain)
    do {
      let answer = try await fetcher.answer(
        to: .init(
          shop: shop, path: "/meta.json", headers: request.headers, largestBody: ShopAnswers.largestDescription))
      return answer.status == 200 ? ShopAnswers.description(answer.body) : ShopDescription()
    } catch let error as SyncError {
      switch error {
      // A shop that is followed without its currency would be told of by its exchange rate.
      case .resting, .networkUnavailable, .unreachable, .networkTimeout, .serverError, .privateAddress: throw error
      default: return ShopDescription()
      }
    }
  }

  /// The answer to a page, which is a success or 400; 304 where it is what `validator` stands for.
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
      guard isExpected || validator != nil && answer.status == 304 else { throw SyncError.invalidResponse }
      return answer
    } catch SyncError.notShopify where page > 1 {
      // There were products a moment ago.
      throw SyncError.invalidResponse
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

  /// What a 400 says, which may be nothing.
  private static func errors(in body: Data) -> FeedFault {
    do throws(FeedFault) {
      _ = try FeedDecoder.decode(body)
      return .errors("")
    } catch {
      guard case .errors = error else { return .errors("") }
      return error
    }
  }

  /// Whether a page would end beyond the window, so that its refusal is no fault of the store.
  private func isBeyondWindow(_ page: Int) -> Bool {
    page * fetcher.configuration.pageSize > fetcher.configuration.window
  }

  /// Whether words are those with which a shop ends its window, as in "Page * Limit exceeds the 25000 limit."; a 400
  /// may have none.
  private static func isLimit(_ words: String) -> Bool {
    let words = words.lowercased()
    return words.isEmpty || words.contains("limit") && words.contains("page")
  }

  private static func fault(of fault: FeedFault, in answer: HTTPAnswer, page: Int) -> SyncError {
    switch fault {
    case .notJSON where !answer.body.isEmpty:
      ShopAnswers.fault(ofPage: answer) ?? (page == 1 ? .notShopify : .invalidResponse)
    case .noProducts where page == 1: .notShopify
    case .tooLarge: .incomplete(reason: "The store's first page lists more than Watchify holds.")
    default: .invalidResponse
    }
  }
}
