import Foundation

/// Interpretation of responses other than product listings.
enum ShopAnswers {
  /// Returns the time to wait, in seconds, from a `Retry-After` header with seconds or a date.
  static func retryAfter(_ answer: HTTPAnswer, now: Date) -> TimeInterval? {
    guard let text = answer.header("Retry-After")?.trimmingCharacters(in: .whitespaces) else { return nil }
    if let seconds = TimeInterval(text) { return seconds.isFinite && seconds >= 0 ? seconds : nil }
    return FeedDate.http(text).map { max(0, $0.timeIntervalSince(now)) }
  }

  /// Returns the currency of the last `cart_currency` cookie. The cookies of a response are joined with commas.
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

  /// Returns whether a URL is that of the password page of a closed shop.
  static func isPasswordPage(_ url: URL) -> Bool { url.path.hasSuffix("/password") }

  /// Returns the error for a redirect to another site. The redirect is not followed; the address is only displayed.
  static func fault(ofRedirectTo url: URL) -> SyncFailure {
    // Local names, bare numbers and single labels could only be hosts of the local network.
    guard let address = try? ShopAddress(url.absoluteString), address.reach == .internet,
      url.host?.contains(".") == true
    else { return .notShopify }
    return .moved(to: address.domain)
  }

  /// Returns the error for a page that was served instead of JSON; `nil` if the page is not recognized.
  static func fault(ofPage answer: HTTPAnswer) -> SyncFailure? {
    let text = String(decoding: answer.body.prefix(65_536), as: UTF8.self).lowercased()
    // Checked first: a password page may contain a CAPTCHA as well.
    if text.contains("action=\"/password\"") { return .passwordProtected }
    guard answer.header("cf-mitigated") != nil || challenges.contains(where: text.contains) else { return nil }
    return .refused(reason: "it responds with a page that checks for humans.")
  }

  private static let challenges = [
    "challenge-platform", "cf-chl", "<title>just a moment", "g-recaptcha", "h-captcha",
  ]

  /// Returns the error for an HTTP status that is neither success nor redirect; `nil` for 400 and rare ones, whose
  /// meaning depends on the request.
  static func fault(ofStatus status: Int) -> SyncFailure? {
    switch status {
    case 401: .passwordProtected
    case 402, 423: .closed(statusCode: status)
    case 403, 430: .refused(reason: "it responds with HTTP \(status).")
    case 404, 410: .notShopify
    case 500...599: .serverError(statusCode: status)
    default: nil
    }
  }

  /// Converts a transport error to a ``SyncFailure``; returns `CancellationError` unchanged.
  static func fault(of error: any Error) -> any Error {
    switch error {
    case is CancellationError: error
    case let error as URLError where error.code == .cancelled: CancellationError()
    case let error as URLError where isUnreachable(error.code): SyncFailure.unreachable
    case let error as ForbiddenAddress: SyncFailure.privateAddress(error.address)
    case let error as InsecureConnection: SyncFailure.insecure(error.sentence)
    case let error as Curl.Missing: SyncFailure.incomplete(reason: error.localizedDescription)
    // `SyncFailure.from(_:)` reports this as offline, but here the server had been reached.
    case let error as URLError where error.code == .networkConnectionLost: SyncFailure.connectionLost
    default: SyncFailure.from(error)
    }
  }

  /// Whether a host could not be reached. On Linux this is also the error of a device that is offline.
  private static func isUnreachable(_ code: URLError.Code) -> Bool {
    [.cannotFindHost, .dnsLookupFailed, .cannotConnectToHost].contains(code)
  }

  /// Whether an error is typical of a throttled server that no longer responds.
  static func looksThrottled(_ error: any Error) -> Bool {
    guard let code = (error as? URLError)?.code else { return false }
    return [.timedOut, .networkConnectionLost, .badServerResponse, .unknown].contains(code)
  }

  /// The maximum size of `/meta.json` in bytes; about two thousand are usual.
  static let largestDescription = 256 * 1024

  /// Decodes `/meta.json`. Parts of an unexpected type are `nil`.
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

  /// Returns a code of `count` letters, such as a country code, in upper case.
  private static func code(_ text: String, _ count: Int) -> String? {
    text.utf8.count == count && text.utf8.allSatisfy { ($0 | 0x20) &- UInt8(ascii: "a") < 26 } ? text.uppercased() : nil
  }
}
