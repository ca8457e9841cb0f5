public import Foundation

/// The address of a shop: a host, and a port unless it is the default one.
///
/// ```swift
/// try ShopAddress("https://www.allbirds.com/products/x?y").domain  // "allbirds.com"
/// try ShopAddress("allbirds").domain                               // "allbirds.com"
/// try ShopAddress("http://127.0.0.1:8080").domain                  // "127.0.0.1:8080"
/// ```
public struct ShopAddress: Hashable, Sendable {
  /// The host in lower case, without `www.`; non-ASCII names are in Punycode.
  public let host: String
  /// The port; `nil` for the default one.
  public let port: Int?

  /// Creates an address from user input: a domain, a link to a page of the shop, or a bare name, to which ".com" is
  /// appended.
  /// - Throws: ``Invalid`` if the input cannot be the address of a shop.
  public init(_ text: String) throws {
    let pasted = text.trimmingCharacters(in: .whitespacesAndNewlines)
    func invalid(_ reason: String) -> Invalid { Invalid(pasted: pasted, reason: reason) }

    var rest = pasted[...]
    if let end = rest.range(of: "://") {
      guard ["http", "https"].contains(rest[..<end.lowerBound].lowercased()) else {
        throw invalid("the scheme must be http or https.")
      }
      rest = rest[end.upperBound...]
    }
    rest = rest.prefix { !"/?#\\".contains($0) }
    if let at = rest.lastIndex(of: "@") { rest = rest[rest.index(after: at)...] }
    guard !rest.isEmpty else { throw invalid("it contains no address.") }

    var port: Int?
    if let colon = rest.lastIndex(of: ":"), !rest[colon...].contains("]") {
      let digits = rest[rest.index(after: colon)...]
      guard let number = Int(digits), (1...65_535).contains(number), digits.allSatisfy(\.isNumber) else {
        throw invalid("'\(digits)' is not a port number.")
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
        throw invalid("write its name in Punycode, beginning with 'xn--'.")
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
    guard areNames, host.utf8.count <= 253 else { throw invalid("it is not a valid host name.") }
    guard labels.last?.contains(where: \.isLetter) == true || isPrivate(host) else {
      throw invalid("a shop has a host name, not an IP address.")
    }
    return host
  }

  private static func isLoopback(_ host: String) -> Bool {
    if host == "localhost" || host == "[::1]" { return true }
    let numbers = host.split(separator: ".", omittingEmptySubsequences: false)
    return numbers.count == 4 && numbers[0] == "127" && numbers.allSatisfy { UInt8($0) != nil }
  }

  /// Whether a host is an IPv4 address in a private network (RFC 1918).
  private static func isPrivate(_ host: String) -> Bool {
    guard let address = NetworkAddress(host), address.bytes.count == 4 else { return false }
    return address.isIn([10], 8) || address.isIn([172, 16], 12) || address.isIn([192, 168], 16)
  }

  /// Whether the host is this device, which is requested over plain HTTP.
  public var isLoopback: Bool { Self.isLoopback(host) }

  /// The addresses to which the host may resolve. Private and loopback addresses are allowed only if the host was
  /// entered as such.
  var reach: NetworkReach {
    if isLoopback { return .thisDevice }
    if Self.isPrivate(host) { return .anywhere }
    return Self.isLocalName(host) ? .anywhere : .internet
  }

  /// Whether a name in lower case is none of the internet: it has a single label or one of the local suffixes.
  static func isLocalName(_ host: String) -> Bool {
    !host.contains(".") || localSuffixes.contains { host.hasSuffix($0) }
  }

  /// The suffixes of names that are reserved for local networks (RFC 6761, 6762, 8375, ICANN's `.internal`) or are not
  /// delegated.
  private static let localSuffixes = [
    ".local", ".localdomain", ".localhost", ".internal", ".home.arpa", ".lan", ".home", ".corp", ".intranet",
    ".private",
  ]

  /// Returns a shop's Shopify domain, a single label before `myshopify.com`; `nil` for any other host, which the text's
  /// author could choose freely.
  static func insideShopify(_ text: String) -> String? {
    guard let address = try? ShopAddress(text), address.port == nil, address.host == text.lowercased(),
      address.host.hasSuffix(".myshopify.com"), address.host.split(separator: ".").count == 3
    else { return nil }
    return address.domain
  }

  /// The address as text, for storage and display.
  public var domain: String { port.map { "\(host):\($0)" } ?? host }
}

extension ShopAddress: CustomStringConvertible {
  public var description: String { domain }
}

extension ShopAddress {
  /// The error for input that is not the address of a shop.
  public struct Invalid: LocalizedError, Hashable, Sendable {
    /// The input.
    public let pasted: String
    /// The reason as a sentence for display.
    public let reason: String
    /// "Not a valid Shopify store: ..."
    public var errorDescription: String? {
      pasted.isEmpty ? "Not a valid Shopify store: \(reason)" : "Not a valid Shopify store: '\(pasted)': \(reason)"
    }
  }

  /// Returns the URL of a path at the shop. `host` overrides the host, for a shop whose canonical host is known.
  func url(_ path: String, query: [URLQueryItem] = [], host: String? = nil) -> URL? {
    var parts = URLComponents()
    parts.scheme = isLoopback ? "http" : "https"
    parts.encodedHost = host ?? self.host
    parts.port = port
    parts.path = path
    parts.queryItems = query.isEmpty ? nil : query
    return parts.url
  }

  /// Returns `url` with this shop's scheme and port if it is at this shop, that is, has the same host with or without
  /// `www.` and the same port; otherwise `nil`.
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
