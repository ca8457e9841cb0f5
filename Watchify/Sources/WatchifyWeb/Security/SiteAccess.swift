import Coffer
import CofferCore
import CofferEncryption
import Foundation
import WatchifyHTTP
import WatchifyKit

/// The clients that may use a site with an access token. Sessions end with the process.
final class SiteAccess: Sendable {
  /// The result of a login.
  enum Login: Sendable, Hashable {
    /// The token is right; the value is that of the session's cookie.
    case accepted(String)
    case wrong
    /// There were too many wrong tokens of this network, or of all together, within a minute.
    case tooOften
  }

  private struct State {
    /// The newest sessions, oldest first.
    var sessions: [String] = []
    /// The wrong tokens within the last minute, by the network that sent them.
    var failures: [(network: String, at: ContinuousClock.Instant)] = []
  }

  /// The name of the cookie. Under TLS its prefix makes browsers accept it only with `Secure`, and that for the root
  /// only from this host and for all paths (RFC 6265bis, 4.1.3), so that no other host of the domain sets one.
  static func cookie(isSecure: Bool) -> String {
    (isSecure ? Link.folder == "/" ? "__Host-" : "__Secure-" : "") + "watchify-session"
  }
  private static let mostSessions = 64
  private static let mostFailures = 10
  /// The limit for all networks together. It concerns only those that have failed: others are never locked out.
  private static let mostFailuresInAll = 1_000
  private static let mostKeptFailures = 10_000

  /// The field of a feed's address with ``feedToken``.
  static let feedField = "token"

  private let token: String
  /// The token in the addresses of feeds, for readers that cannot send a header. It opens nothing else, and ends with
  /// the access token, which it does not reveal.
  let feedToken: String?
  private let isSecure: Bool
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Locked(State())

  init(token: String, isSecure: Bool = false, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    self.token = token
    let code = try? MessageAuthentication.code(of: Data("feeds of Watchify".utf8), key: Data(token.utf8))
    feedToken = code?.prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    self.isSecure = isSecure
    self.now = now
  }

  private var cookie: String { Self.cookie(isSecure: isSecure) }

  /// Returns whether a request has the cookie of a session, or the token itself as programs present it: as a bearer
  /// token (RFC 6750) or as the password of basic authentication (RFC 7617), which readers of feeds offer. Programs may
  /// only read. A feed also opens with ``feedToken`` in its address.
  func allows(_ request: HTTPRequest) -> Bool {
    if let cookie = request.cookie(cookie),
      state.withLock({ $0.sessions.contains { $0.isEqualInConstantTime(to: cookie) } })
    {
      return true
    }
    guard request.method == "GET" || request.method == "HEAD" else { return false }
    let inFeed = request.path == ["feed.atom"] ? request.queryValue(Self.feedField) : nil
    // Nobody guesses its 128 bits, and readers that keep an old one are not to lock out their owner.
    if let inFeed { return feedToken.map { inFeed.isEqualInConstantTime(to: $0) } ?? false }
    guard let presented = request.header("Authorization").flatMap(Self.credential) else { return false }
    if case .accepted = judge(presented, of: request.peer) { return true }
    return false
  }

  /// Compares a token and begins a session.
  /// - Parameter peer: the address of the client.
  func logIn(_ presented: String, of peer: String) -> Login {
    let result = judge(presented, of: peer)
    if case .accepted(let session) = result {
      state.withLock { state in
        state.sessions.append(session)
        if state.sessions.count > Self.mostSessions { state.sessions.removeFirst() }
      }
    }
    return result
  }

  /// Returns the field `Set-Cookie` that gives a session to a browser, or removes it.
  func setCookie(_ session: String?) -> String {
    // Without its last slash the path also matches the folder's address without it.
    let path = Link.folder == "/" ? "/" : String(Link.folder.dropLast())
    let attributes = "; Path=\(path); HttpOnly; SameSite=Strict" + (isSecure ? "; Secure" : "")
    return "\(cookie)=\(session ?? "")\(attributes)\(session == nil ? "; Max-Age=0" : "")"
  }

  /// Ends the session of a request.
  func logOut(_ request: HTTPRequest) {
    guard let session = request.cookie(cookie) else { return }
    state.withLock { state in state.sessions.removeAll { $0.isEqualInConstantTime(to: session) } }
  }

  /// Whether a request comes from a browser with a session, which its page offers to end.
  static func hasSession(_ request: HTTPRequest) -> Bool {
    request.cookie(cookie(isSecure: request.isSecure)) != nil
  }

  private func judge(_ presented: String, of peer: String) -> Login {
    let network = PeerAddress.network(of: peer)
    return state.withLock { state in
      let now = now()
      state.failures.removeAll { $0.at + .seconds(60) <= now }
      let own = state.failures.count { $0.network == network }
      guard own < Self.mostFailures, own == 0 || state.failures.count < Self.mostFailuresInAll else {
        return .tooOften
      }
      guard presented.isEqualInConstantTime(to: token) else {
        if state.failures.count == Self.mostKeptFailures { state.failures.removeFirst() }
        state.failures.append((network, now))
        return .wrong
      }
      return .accepted(SiteGuard.randomToken())
    }
  }

  /// Returns the token in a field `Authorization`.
  private static func credential(_ field: String) -> String? {
    let parts = field.split(separator: " ", maxSplits: 1)
    guard parts.count == 2 else { return nil }
    switch parts[0].lowercased() {
    case "bearer": return String(parts[1])
    case "basic":
      guard let data = Data(base64Encoded: String(parts[1])) else { return nil }
      let text = String(decoding: data, as: UTF8.self)
      return text.firstIndex(of: ":").map { String(text[text.index(after: $0)...]) }
    default: return nil
    }
  }
}
