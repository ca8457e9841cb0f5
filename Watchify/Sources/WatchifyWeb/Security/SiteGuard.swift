import CofferCore
import Foundation
import WatchifyHTTP

/// Decides which requests the site answers.
///
/// Every page of the web can send requests to this device. Refused are requests for another host (DNS rebinding),
/// requests of other sites for anything but a whole page (their pictures, scripts and frames), and forms that do not
/// come from a page of this process.
final class SiteGuard: Sendable {
  /// The field of forms with ``formToken``.
  static let formField = "csrf"
  /// The longest token that a login compares.
  private static let longestToken = 1_024

  /// The token of all forms. Pages of other sites cannot read it, and it ends with the process.
  let formToken: String
  /// The token in the addresses of feeds; `nil` if none is needed.
  var feedToken: String? { access?.feedToken }
  private let address: SiteAddress
  private let access: SiteAccess?

  /// - Parameter accessToken: the token that a client has to present; `nil` if every client may read and write.
  init(address: SiteAddress, accessToken: String?, isSecure: Bool) {
    self.address = address
    access = accessToken.map { SiteAccess(token: $0, isSecure: isSecure) }
    formToken = Self.randomToken()
  }

  /// Returns the response that refuses a request, logs in or out; `nil` if the site is to answer it.
  func refusal(of request: HTTPRequest) -> HTTPResponse? {
    let host = request.header("Host") ?? ""
    guard address.includes(host: host) else { return RefusalPage.otherHost.response }
    guard isOwn(request, host) else { return RefusalPage.otherSite.response }
    if let access, !access.allows(request) {
      if request.method == "POST", request.path == ["login"] { return login(request, access) }
      // The style of the login page; it is the same for everybody.
      if request.method == "GET", request.path.first == "assets" { return nil }
      // Readers of feeds send a password only if they are asked. A browser would ask for it in a window of its own, so
      // for pages the scheme is one that browsers ignore.
      let scheme = request.path == ["feed.atom"] ? "Basic realm=\"Watchify\", charset=\"UTF-8\"" : "Bearer"
      return RefusalPage.login(isRetry: false, token: formToken).response.with("WWW-Authenticate", scheme)
    }
    guard request.method == "POST" else { return nil }
    guard hasFormToken(request) else { return RefusalPage.oldPage.response }
    guard let access, request.path == ["logout"] else { return nil }
    access.logOut(request)
    return .redirect(to: Link([]).text).with("Set-Cookie", access.setCookie(nil))
  }

  /// Whether a request does not come from another site.
  private func isOwn(_ request: HTTPRequest, _ host: String) -> Bool {
    // Browsers send the fields `Sec-Fetch-*` (Fetch Metadata, W3C) to trustworthy addresses, which loopback is.
    if let site = request.header("Sec-Fetch-Site")?.lowercased(), site == "cross-site" || site == "same-site" {
      let opensPage =
        request.header("Sec-Fetch-Mode")?.lowercased() == "navigate"
        && request.header("Sec-Fetch-Dest")?.lowercased() == "document"
      guard opensPage, request.method == "GET" || request.method == "HEAD" else { return false }
    }
    guard request.method == "POST", let origin = request.header("Origin") else { return true }
    return address.isOwn(origin: origin, host: host)
  }

  private func hasFormToken(_ request: HTTPRequest) -> Bool {
    guard let token = request.form.first(where: { $0.name == Self.formField })?.value else { return false }
    return token.isEqualInConstantTime(to: formToken)
  }

  private func login(_ request: HTTPRequest, _ access: SiteAccess) -> HTTPResponse {
    guard hasFormToken(request) else { return RefusalPage.login(isRetry: false, token: formToken).response }
    let token = request.form.first { $0.name == "token" }?.value ?? ""
    switch access.logIn(String(token.prefix(Self.longestToken)), of: request.peer) {
    case .accepted(let session):
      return .redirect(to: Link([]).text).with("Set-Cookie", access.setCookie(session))
    case .wrong: return RefusalPage.login(isRetry: true, token: formToken).response
    case .tooOften: return RefusalPage.tooManyAttempts.response
    }
  }

  /// Returns 128 random bits of the system's generator.
  static func randomToken() -> String {
    var generator = SystemRandomNumberGenerator()
    return (0..<2).map { _ in
      let digits = String(generator.next(), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }
}

extension String {
  /// Returns whether both are equal, in a time that does not depend on the position of a difference.
  func isEqualInConstantTime(to other: String) -> Bool {
    let (own, others) = (Array(utf8), Array(other.utf8))
    guard own.count == others.count else { return false }
    return zip(own, others).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
