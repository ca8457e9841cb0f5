import CofferLocks
import Foundation

/// Asks a shop for one thing at a time: robots.txt first, through the gate, with redirects and repetitions.
final class ShopFetcher: Sendable {
  /// What an answer depends on besides its address.
  struct Question: Sendable {
    var shop: ShopAddress
    var path: String
    var query: [URLQueryItem] = []
    var headers: [(name: String, value: String)] = []
    /// Bytes of the answer at most; as many as a page may have unless given.
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
  /// The host that answers for a shop, with its `www.` if it wants one: saves a redirect each time.
  private let hosts = Locked<[ShopAddress: String]>([:])

  init(configuration: ShopifyClient.Configuration, gate: RequestGate) {
    self.configuration = configuration
    self.gate = gate
    transport = HTTPTransport(timeout: configuration.timeout, longestTransfer: configuration.longestTransfer)
  }

  /// The host that answered last for a shop, and its port when it is not the usual one.
  func domain(of shop: ShopAddress) -> String {
    let host = hosts.withLock { $0[shop] } ?? shop.host
    return shop.port.map { "\(host):\($0)" } ?? host
  }

  /// An answer with success, or with a status that ``ShopAnswers/fault(ofStatus:)`` leaves open.
  func answer(to question: Question) async throws -> HTTPAnswer {
    try await checkRobots(for: question)
    return try await fetch(question, limit: .init(bytes: question.largestBody ?? configuration.largestBody))
  }

  // MARK: - robots.txt

  private func checkRobots(for question: Question) async throws {
    let rules = try await rules(of: question.shop)
    let query = question.query.map { "\($0.name)=\($0.value ?? "")" }.joined(separator: "&")
    // A rule for "/products.json$" means the listing too, whatever stands behind the question mark.
    guard rules.allows(question.path), rules.allows(query.isEmpty ? question.path : "\(question.path)?\(query)") else {
      throw SyncError.refused(reason: "its robots.txt disallows \(question.path).")
    }
  }

  /// Asked for once a day. A site that has none allows everything; a fault ends this attempt and is not remembered.
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
    } catch SyncError.notShopify, SyncError.passwordProtected, SyncError.refused, SyncError.closed, SyncError.moved {
      // No rules are to be had: the shop's answer to the question itself counts.
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

  /// One turn at the gate: redirects within the site belong to it. A refusal begins the rest before the turn ends, so
  /// that nobody's request goes out in between.
  private func follow(_ question: Question, limit: HTTPTransport.BodyLimit) async throws -> HTTPAnswer {
    let shop = question.shop
    guard var url = shop.url(question.path, query: question.query, host: hosts.withLock { $0[shop] }) else {
      throw SyncError.notShopify
    }
    for _ in 0...Self.mostRedirects {
      let answer: HTTPAnswer
      do {
        answer = try await transport.get(request(url, question), limit: limit)
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
      guard let place = answer.header("Location"), let target = URL(string: place, relativeTo: url) else {
        throw SyncError.invalidResponse
      }
      guard let next = shop.onSite(target.absoluteURL) else { throw ShopAnswers.fault(ofRedirectTo: target) }
      if ShopAnswers.isPasswordPage(next) { throw SyncError.passwordProtected }
      url = next
    }
    throw SyncError.invalidResponse
  }

  private func rest(_ shop: ShopAddress, isFront: Bool, retryAfter: TimeInterval?) -> SyncError {
    let until = gate.refuse(isFront ? nil : shop, retryAfter: retryAfter)
    return .resting(until: until, shop: isFront ? nil : shop.domain)
  }

  /// Private headers go out with it, so `url` must be at the shop that they were given for.
  private func request(_ url: URL, _ question: Question) -> HTTPRequest {
    let usual = [("User-Agent", configuration.userAgent), ("Accept", "application/json")]
    let further = question.headers.filter { Self.isHeader($0.name, $0.value) }
    let kept = usual.filter { name, _ in !further.contains { $0.name.lowercased() == name.lowercased() } }
    return HTTPRequest(url: url, headers: kept + further, reach: question.shop.reach)
  }

  /// A line break in a header would begin another one.
  private static func isHeader(_ name: String, _ value: String) -> Bool {
    !name.isEmpty && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }
      && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }
}
