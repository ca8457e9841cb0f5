import CofferCore
import Foundation

/// Sends requests to shops through the gate, checking robots.txt first and handling redirects and retries.
final class ShopFetcher: Sendable {
  /// A request to a shop.
  struct Question: Sendable {
    var shop: ShopAddress
    var path: String
    var query: [URLQueryItem] = []
    var headers: [(name: String, value: String)] = []
    /// The maximum size of the response in bytes; `Configuration.largestBody` if `nil`.
    var largestBody: Int?
  }

  private struct Robots {
    var rules: RobotsRules
    var readAt: Date
  }

  private static let mostRedirects = 5

  let configuration: ShopifyClient.Configuration
  let gate: RequestGate
  private let transport: HTTPTransport
  private let robots = Locked<[ShopAddress: Robots]>([:])
  /// The canonical host of each shop, with `www.` if it uses that; saves a redirect per request.
  private let hosts = Locked<[ShopAddress: String]>([:])

  init(configuration: ShopifyClient.Configuration, gate: RequestGate) {
    self.configuration = configuration
    self.gate = gate
    transport = HTTPTransport(timeout: configuration.timeout, longestTransfer: configuration.longestTransfer)
  }

  /// Returns the host that responded last for a shop, with the port unless it is the default one.
  func domain(of shop: ShopAddress) -> String {
    let host = hosts.withLock { $0[shop] } ?? shop.host
    return shop.port.map { "\(host):\($0)" } ?? host
  }

  /// Returns a response with success, or with a status for which ``ShopAnswers/fault(ofStatus:)`` returns `nil`.
  func answer(to question: Question) async throws -> HTTPAnswer {
    try await checkRobots(for: question)
    return try await fetch(question, limit: .init(bytes: question.largestBody ?? configuration.largestBody))
  }

  // MARK: - robots.txt

  private func checkRobots(for question: Question) async throws {
    let rules = try await rules(of: question.shop)
    let query = question.query.map { "\($0.name)=\($0.value ?? "")" }.joined(separator: "&")
    // A rule for "/products.json$" applies to the listing too, whatever its query.
    guard rules.allows(question.path), rules.allows(query.isEmpty ? question.path : "\(question.path)?\(query)") else {
      throw SyncFailure.refused(reason: "its robots.txt disallows \(question.path).")
    }
  }

  /// Returns the rules of a shop, requested at most once a day. A site without robots.txt allows everything; a failure
  /// ends this attempt and is not cached.
  private func rules(of shop: ShopAddress) async throws -> RobotsRules {
    let now = gate.clock.now()
    if let known = robots.withLock({ $0[shop] }), abs(now.timeIntervalSince(known.readAt)) < 86_400 {
      return known.rules
    }
    var rules = RobotsRules.allowingAll
    do {
      let answer = try await fetch(
        Question(shop: shop, path: "/robots.txt"), limit: .init(bytes: RobotsRules.largestBody, cuts: true))
      if (200...299).contains(answer.status) {
        let agent = configuration.userAgent.prefix { $0 != "/" && $0 != " " }
        rules = RobotsRules(String(decoding: answer.body, as: UTF8.self), agent: String(agent))
      }
    } catch SyncFailure.invalidResponse(.notShopify), SyncFailure.invalidResponse(.passwordProtected),
      SyncFailure.invalidResponse(.refused), SyncFailure.invalidResponse(.closed), SyncFailure.invalidResponse(.moved)
    {
      // Without rules, the response to the request itself decides.
    }
    let read = Robots(rules: rules, readAt: now)
    robots.withLock { $0[shop] = read }
    return rules
  }

  // MARK: - Requests

  private func fetch(_ question: Question, limit: HTTPTransport.BodyLimit) async throws -> HTTPAnswer {
    let isSpared = configuration.sparesOwnDevice || !question.shop.isLoopback
    let pauses = RequestGate.Pauses(
      sameShop: isSpared ? configuration.pagePause : .zero, otherShop: isSpared ? configuration.storePause : .zero)
    var delays = isSpared ? configuration.retryDelays[...] : []
    while true {
      let answer = try await gate.perform(for: question.shop, pauses: pauses) {
        try await follow(question, limit: limit)
      }
      if answer.status == 503, let fault = ShopAnswers.fault(ofPage: answer) { throw fault }
      guard let fault = ShopAnswers.fault(ofStatus: answer.status) else { return answer }
      guard case .serverError = fault, let delay = delays.popFirst() else { throw fault }
      try await gate.clock.sleep(delay)
    }
  }

  /// Sends one request and follows redirects within the site, in one turn at the gate. A refusal begins the pause
  /// before the turn ends, so that no other request is admitted in between.
  private func follow(_ question: Question, limit: HTTPTransport.BodyLimit) async throws -> HTTPAnswer {
    let shop = question.shop
    guard var url = shop.url(question.path, query: question.query, host: hosts.withLock { $0[shop] }) else {
      throw SyncFailure.notShopify
    }
    for _ in 0...Self.mostRedirects {
      LoopPulse.current?.step(within: configuration.longestTransfer + .seconds(600))
      let answer: HTTPAnswer
      do {
        answer = try await transport.send(request(url, question), limit: limit)
      } catch {
        guard gate.isRefused(shop), ShopAnswers.looksThrottled(error) else { throw ShopAnswers.fault(of: error) }
        throw rest(shop, isFront: configuration.isShopify(url, nil), retryAfter: nil)
      }
      if answer.status == 429 {
        let wait = ShopAnswers.retryAfter(answer, now: gate.clock.now())
        throw rest(shop, isFront: configuration.isShopify(url, answer.peer), retryAfter: wait)
      }
      guard [301, 302, 303, 307, 308].contains(answer.status) else {
        if let host = url.host { hosts.withLock { $0[shop] = host } }
        return answer
      }
      guard let location = answer.header("Location"), let target = URL(string: location, relativeTo: url) else {
        throw SyncFailure.invalidResponse()
      }
      guard let next = shop.onSite(target.absoluteURL) else { throw ShopAnswers.fault(ofRedirectTo: target) }
      if ShopAnswers.isPasswordPage(next) { throw SyncFailure.passwordProtected }
      url = next
    }
    throw SyncFailure.invalidResponse()
  }

  private func rest(_ shop: ShopAddress, isFront: Bool, retryAfter: TimeInterval?) -> SyncFailure {
    let until = gate.refuse(isFront ? nil : shop, retryAfter: retryAfter)
    return .resting(until: until, shop: isFront ? nil : shop.domain)
  }

  /// Creates an HTTP request. It includes the private headers, so `url` must be at the shop that they are meant for.
  private func request(_ url: URL, _ question: Question) -> HTTPRequest {
    let usual = [("User-Agent", configuration.userAgent), ("Accept", "application/json")]
    let further = question.headers.filter { Self.isHeader($0.name, $0.value) }
    let kept = usual.filter { name, _ in !further.contains { $0.name.lowercased() == name.lowercased() } }
    return HTTPRequest(
      url: url, headers: kept + further, certificates: configuration.authorities?.path, reach: question.shop.reach)
  }

  /// Whether a header is valid. A line break in a value would start another header.
  private static func isHeader(_ name: String, _ value: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
      && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }
}
