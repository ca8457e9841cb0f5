/// A request to a server, with its whole body.
///
/// Paths and queries are decoded; header names are compared without regard to case (RFC 9110, 5.1).
public struct HTTPRequest: Sendable {
  /// The method in upper case, such as "GET".
  public var method: String
  /// The request target as sent, such as "/search?q=mat".
  public var target: String
  /// The decoded components of the path: `/a%2Fb/c` is `["a/b", "c"]`, and `/` has none.
  ///
  /// A component may be ".." or contain "/" and zero characters: compare components, and never make a file's path of
  /// them.
  public var path: [String]
  /// The decoded query items in the order of the target.
  public var query: [(name: String, value: String)]
  /// The header fields in the order in which they were sent.
  public var headers: [(name: String, value: String)]
  /// The body, at most as large as the server's limit.
  public var body: [UInt8]
  /// The address of the peer without its port, such as "127.0.0.1"; empty if the transport has none.
  public var peer: String
  /// Whether the connection is encrypted with TLS.
  public var isSecure: Bool

  /// Creates a request, as servers and tests do.
  /// - Parameters:
  ///   - method: the method in upper case.
  ///   - target: the path with an optional query, percent-encoded; or an absolute URL, whose scheme and host are
  ///     skipped (RFC 9112, 3.2.2). A server refuses one with another host than the field `Host`.
  ///   - headers: the header fields.
  ///   - body: the body.
  ///   - peer: the address of the peer.
  ///   - isSecure: whether the connection is encrypted.
  public init(
    _ method: String, _ target: String, headers: [(name: String, value: String)] = [], body: [UInt8] = [],
    peer: String = "", isSecure: Bool = false
  ) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
    self.peer = peer
    self.isSecure = isSecure
    let authority = Self.authority(of: target)
    let parts = (authority.map { target[$0.endIndex...] } ?? target[...]).split(
      separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = (parts.first ?? "").split(separator: "/").map { PercentCoding.decoded($0) }
    query = FormCoding.items(parts.count > 1 ? String(parts[1]) : "")
  }

  /// Returns the host and port of a target that is an absolute URL; `nil` for any other target.
  static func authority(of target: String) -> Substring? {
    let scheme = target.prefix { $0.isASCII && ($0.isLetter || $0.isNumber || "+-.".contains($0)) }
    guard !scheme.isEmpty, target.dropFirst(scheme.count).hasPrefix("://") else { return nil }
    return target.dropFirst(scheme.count + 3).prefix { $0 != "/" && $0 != "?" }
  }

  /// Returns the first value of a header field; `nil` if it was not sent.
  public func header(_ name: String) -> String? {
    let name = name.lowercased()
    return headers.first { $0.name.lowercased() == name }?.value
  }

  /// Returns the first value of a query item; `nil` if the query has none of that name.
  public func queryValue(_ name: String) -> String? { query.first { $0.name == name }?.value }

  /// The items of a body of type `application/x-www-form-urlencoded`; none if the body has another type.
  public var form: [(name: String, value: String)] {
    guard header("Content-Type")?.lowercased().hasPrefix("application/x-www-form-urlencoded") == true else { return [] }
    return FormCoding.items(String(decoding: body, as: UTF8.self))
  }

  /// Returns the value of a cookie (RFC 6265, 5.4); `nil` if it was not sent.
  public func cookie(_ name: String) -> String? {
    for field in headers where field.name.lowercased() == "cookie" {
      for pair in field.value.split(separator: ";") {
        let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        if parts.count == 2, parts[0].drop(while: { $0 == " " }) == name { return String(parts[1]) }
      }
    }
    return nil
  }
}
