import Foundation

/// What answers of shops mean, apart from lists of products.
enum ShopAnswers {
  /// Seconds to wait, or a date.
  static func retryAfter(_ answer: HTTPAnswer, now: Date) -> TimeInterval? {
    guard let text = answer.header("Retry-After")?.trimmingCharacters(in: .whitespaces) else { return nil }
    if let seconds = TimeInterval(text) { return seconds.isFinite && seconds >= 0 ? seconds : nil }
    return FeedDate.http(text).map { max(0, $0.timeIntervalSince(now)) }
  }

  /// The currency of the last `cart_currency` cookie. Foundation joins the cookies of an answer with commas.
  static func currency(_ answer: HTTPAnswer) -> String? {
    guard let cookies = answer.header("Set-Cookie") else { return nil }
    var currency: String?
    for part in cookies.split(whereSeparator: { $0 == "," || $0 == ";" || $0 == "\n" }) {
      let part = part.trimmingCharacters(in: .whitespaces)
      guard part.hasPrefix("cart_currency=") else { continue }
      let code = part.dropFirst("cart_currency=".count)
      if code.utf8.count == 3, code.allSatisfy({ $0.isASCII && $0.isLetter }) { currency = code.uppercased() }
    }
    return currency
  }

  /// Whether an address is that of the page on which a closed shop asks for its password.
  static func isPasswordPage(_ url: URL) -> Bool { url.path.hasSuffix("/password") }

  /// What a redirect to another site means. Its name is for people; nobody follows it.
  static func fault(ofRedirectTo url: URL) -> SyncError {
    // Local names, bare numbers and bare words are somewhere on the reader's own network, if anywhere.
    guard let place = try? ShopAddress(url.absoluteString), place.reach == .internet,
      url.host?.contains(".") == true
    else { return .notShopify }
    return .moved(to: place.domain)
  }

  /// What a page says that was served instead of JSON, if anything.
  static func fault(ofPage answer: HTTPAnswer) -> SyncError? {
    let text = String(decoding: answer.body.prefix(65_536), as: UTF8.self).lowercased()
    // First: a page that asks for the password may check for humans, too.
    if text.contains("action=\"/password\"") { return .passwordProtected }
    guard answer.header("cf-mitigated") != nil || challenges.contains(where: text.contains) else { return nil }
    return .refused(reason: "it answers with a page that checks for humans.")
  }

  private static let challenges = [
    "challenge-platform", "cf-chl", "<title>just a moment", "g-recaptcha", "h-captcha",
  ]

  /// What a status means that is neither success nor redirect; `nil` for 400 and what is rare, which depends on what
  /// was asked for.
  static func fault(ofStatus status: Int) -> SyncError? {
    switch status {
    case 401: .passwordProtected
    case 402, 423: .closed(statusCode: status)
    case 403, 430: .refused(reason: "it answers with HTTP \(status).")
    case 404, 410: .notShopify
    case 500...599: .serverError(statusCode: status)
    default: nil
    }
  }

  /// Errors of the network as ``SyncError``; `CancellationError` stays what it is.
  static func fault(of error: any Error) -> any Error {
    switch error {
    case is CancellationError: error
    case let error as URLError where error.code == .cancelled: CancellationError()
    case let error as URLError where isUnreachable(error.code): SyncError.unreachable
    case let error as ForbiddenAddress: SyncError.privateAddress(error.address)
    case let error as Curl.Missing: SyncError.incomplete(reason: error.localizedDescription)
    // The document's table takes it for being offline; here a server was there a moment ago.
    case let error as URLError where error.code == .networkConnectionLost: SyncError.connectionLost
    default: SyncError.from(error)
    }
  }

  /// On Linux a device without a network learns it from the resolver first, as if nobody were there.
  private static func isUnreachable(_ code: URLError.Code) -> Bool {
    [.cannotFindHost, .dnsLookupFailed, .cannotConnectToHost].contains(code)
  }

  /// Whether an error is what a throttle looks like that no longer answers.
  static func looksThrottled(_ error: any Error) -> Bool {
    guard let code = (error as? URLError)?.code else { return false }
    return [.timedOut, .networkConnectionLost, .badServerResponse, .unknown].contains(code)
  }

  /// Bytes of `/meta.json` at most: it has some two thousand.
  static let largestDescription = 256 * 1024

  /// `/meta.json`; parts that are not what they should be are missing.
  static func description(_ body: Data) -> ShopDescription {
    var description = ShopDescription()
    _ = body.withUnsafeBytes { bytes in
      Result { () throws(FeedFault) in
        var scanner = JSONScanner(bytes)
        try scanner.object { (scanner, name) throws(FeedFault) in
          if scanner.matches(name, "name") {
            description.name = try scanner.stringIfAny()
          } else if scanner.matches(name, "country") {
            description.country = try scanner.stringIfAny().flatMap { code($0, 2) }
          } else if scanner.matches(name, "currency") {
            description.currency = try scanner.stringIfAny().flatMap { code($0, 3) }
          } else if scanner.matches(name, "myshopify_domain") {
            description.shopifyDomain = try scanner.stringIfAny().flatMap(ShopAddress.insideShopify)
          } else if scanner.matches(name, "published_products_count") {
            description.productCount = try scanner.integerIfAny().flatMap { Int(exactly: $0) }
          } else {
            try scanner.skip()
          }
        }
      }
    }
    return description
  }

  /// A code of so many letters, such as that of a country.
  private static func code(_ text: String, _ count: Int) -> String? {
    text.utf8.count == count && text.utf8.allSatisfy { ($0 | 0x20) &- UInt8(ascii: "a") < 26 } ? text.uppercased() : nil
  }
}
