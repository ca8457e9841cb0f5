public import Foundation

/// Where a shop is: a host, and a port when it is not the usual one.
///
/// ```swift
/// try ShopAddress("https://www.allbirds.com/products/x?y").domain  // "allbirds.com"
/// try ShopAddress("allbirds").domain                               // "allbirds.com"
/// try ShopAddress("http://127.0.0.1:8080").domain                  // "127.0.0.1:8080"
/// ```
public struct ShopAddress: Hashable, Sendable {
  /// In lower case, without `www.`; punycode for names beyond ASCII.
  public let host: String
  /// `nil` for the usual one.
  public let port: Int?

  /// What was pasted by a person: a domain, a link to a page of the shop, or the shop's plain name, to which ".com" is
  /// added.
  /// - Throws: ``Invalid``, when it cannot be the host of a shop.
  public init(_ text: String) throws {
    let pasted = text.trimmingCharacters(in: .whitespacesAndNewlines)
    func invalid(_ reason: String) -> Invalid { Invalid(pasted: pasted, reason: reason) }

    var rest = pasted[...]
    if let end = rest.range(of: "://") {
      guard ["http", "https"].contains(rest[..<end.lowerBound].lowercased()) else {
        throw invalid("shops are on the web, at http or https.")
      }
      rest = rest[end.upperBound...]
    }
    rest = rest.prefix { !"/?#\\".contains($0) }
    if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
    guard !rest.isEmpty else { throw invalid("there is no address in it.") }

    var port: Int?
    if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
      let digits = rest[rest.index(after: colon)...]
      guard let number = Int(digits), (1...65_535).contains(number), digits.allSatisfy(\.isNumber) else {
        throw invalid("'\(digits)' is no port.")
      }
      (port, rest) = (number, rest[..<colon])
    }
    host = try Self.host(String(rest), or: invalid)
    let usual = Self.isLoopback(host) ? [80] : [80, 443]
    self.port = port.flatMap { usual.contains($0) ? nil : $0 }
  }

  private static func host(_ text: String, or invalid: (String) -> Invalid) throws -> String {
    var host = text.lowercased()
    if !host.utf8.allSatisfy({ $0 < 0x80 }) {
      guard let ascii = URL(string: "https://\(host)/")?.host, ascii.utf8.allSatisfy({ $0 < 0x80 }) else {
        throw invalid("write its name in the form that begins with 'xn--'.")
      }
      host = ascii.lowercased()
    }
    while host.hasSuffix(".") { host.removeLast() }
    if host.hasPrefix("www."), host.dropFirst(4).contains(".") { host.removeFirst(4) }
    if isLoopback(host) { return host }
    if !host.contains(".") { host += ".com" }

    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    let areNames = labels.allSatisfy { label in
      (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
        && label.utf8.allSatisfy { byte in
          byte == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        }
    }
    guard areNames, host.utf8.count <= 253 else { throw invalid("it is not the name of a site.") }
    guard labels.last?.contains(where: \.isLetter) == true || isPrivate(host) else {
      throw invalid("shops have a name, not a number.")
    }
    return host
  }

  private static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "[::1]" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
  }

  /// Whether it is a number in somebody's own network (RFC 1918).
  private static func isPrivate(_ host: String) -> Bool {
    guard let address = NetworkAddress(host), address.bytes.count == 4 else { return false }
    return address.isIn([10], 8) || address.isIn([172, 16], 12) || address.isIn([192, 168], 16)
  }

  /// Whether it is this very device, which is asked over plain HTTP.
  public var isLoopback: Bool { Self.isLoopback(host) }

  /// Which addresses it may have: one in a private network, or of this device, only where somebody has given it so.
  var reach: NetworkReach {
    if isLoopback { return .thisDevice }
    if Self.isPrivate(host) { return .anywhere }
    return Self.localSuffixes.contains { host.hasSuffix($0) } ? .anywhere : .internet
  }

  /// Ends of names that nobody can have on the internet (RFC 6761, 6762, 8375, ICANN's `.internal`), or nobody has.
  private static let localSuffixes = [
    ".local", ".localhost", ".internal", ".home.arpa", ".lan", ".home", ".corp", ".intranet", ".private",
  ]

  /// A shop's address inside Shopify, one name before `myshopify.com`; `nil` for any other, which would send its reader
  /// wherever a stranger likes.
  static func insideShopify(_ text: String) -> String? {
    guard let address = try? ShopAddress(text), address.port == nil, address.host == text.lowercased(),
      address.host.hasSuffix(".myshopify.com"), address.host.split(separator: ".").count == 3
    else { return nil }
    return address.domain
  }

  /// Host and port as they are written, stored and shown.
  public var domain: String { port.map { "\(host):\($0)" } ?? host }
}

extension ShopAddress: CustomStringConvertible {
  public var description: String { domain }
}

extension ShopAddress {
  /// Why what was pasted is no address of a shop.
  public struct Invalid: LocalizedError, Hashable, Sendable {
    /// What was pasted.
    public let pasted: String
    /// A sentence for people.
    public let reason: String
    /// "Not a valid Shopify store: ..."
    public var errorDescription: String? {
      pasted.isEmpty ? "Not a valid Shopify store: \(reason)" : "Not a valid Shopify store: '\(pasted)': \(reason)"
    }
  }

  /// The address of something at the shop. `host` is the canonical one when it is known.
  func url(_ path: String, query: [URLQueryItem] = [], host: String? = nil) -> URL? {
    var parts = URLComponents()
    parts.scheme = isLoopback ? "http" : "https"
    parts.encodedHost = host ?? self.host
    parts.port = port
    parts.path = path
    parts.queryItems = query.isEmpty ? nil : query
    return parts.url
  }

  /// `url` when it is at this shop: the same host with or without `www.`, and the same port; in this shop's scheme.
  func onSite(_ url: URL) -> URL? {
    guard let other = try? ShopAddress(url.absoluteString), other == self,
      var parts = URLComponents(url: url, resolvingAgainstBaseURL: true)
    else { return nil }
    parts.scheme = isLoopback ? "http" : "https"
    parts.port = port
    (parts.user, parts.password) = (nil, nil)
    return parts.url
  }
}
