import Foundation
import WatchifyKit

/// The addresses under which a server may be addressed by its clients.
///
/// A page of another site can make a browser connect to any address, also by a name of its own that resolves to this
/// device (DNS rebinding). It cannot choose the field `Host`, which then states that name.
struct SiteAddress: Sendable {
  /// The names in lower case, without ports; IPv6 addresses in brackets.
  private let names: [String]
  /// Further names, which clients may also state without a port: a proxy may name its upstream so.
  private let otherNames: [String]
  /// Whether every numeric address is accepted: the device has several, and no name can be rebound to one.
  private let acceptsNumbers: Bool
  private let port: UInt16
  private let scheme: String
  /// The address at a reverse proxy.
  private let publicAddress: PublicAddress?

  /// - Parameters:
  ///   - host: the address that the server listens at.
  ///   - port: the port that it listens at.
  ///   - names: further names by which clients reach it.
  ///   - publicAddress: the address at a reverse proxy, which may send its own or that of the server as `Host`.
  init(host: String, port: UInt16, names: [String], isSecure: Bool, publicAddress: PublicAddress? = nil) {
    let isLoopback = Self.isLoopback(host)
    let own = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
    self.names = isLoopback ? ["localhost", "127.0.0.1", "[::1]", own] : []
    otherNames = names.map { $0.lowercased() }
    acceptsNumbers = !isLoopback
    self.port = port
    scheme = isSecure ? "https" : "http"
    self.publicAddress = publicAddress
  }

  /// Whether a numeric address is one of this device only.
  static func isLoopback(_ host: String) -> Bool { host.hasPrefix("127.") || host == "::1" || host == "[::1]" }

  /// Returns whether a field `Host` names this server.
  func includes(host field: String) -> Bool {
    let field = field.lowercased()
    return publicAddress?.hosts.contains(field) == true || isDirect(field)
  }

  /// Returns whether a field `Host` in lower case names the address that the server listens at.
  private func isDirect(_ field: String) -> Bool {
    let name: Substring
    let rest: Substring
    if field.hasPrefix("["), let end = field.firstIndex(of: "]") {
      (name, rest) = (field[...end], field[field.index(after: end)...])
    } else {
      let colon = field.firstIndex(of: ":") ?? field.endIndex
      (name, rest) = (field[..<colon], field[colon...])
    }
    let isOther = otherNames.contains(String(name))
    if isOther, rest.isEmpty { return true }
    let standard: UInt16 = scheme == "https" ? 443 : 80
    guard rest.isEmpty ? port == standard : rest == ":\(port)" else { return false }
    return isOther || names.contains(String(name)) || acceptsNumbers && Self.isNumeric(name)
  }

  /// Returns whether a field `Origin` is that of a page of this server: under its public address, or addressed as the
  /// field `Host` of the request.
  func isOwn(origin: String, host: String) -> Bool {
    let (origin, host) = (origin.lowercased(), host.lowercased())
    return origin == publicAddress?.origin || isDirect(host) && origin == "\(scheme)://\(host)"
  }

  private static func isNumeric(_ name: Substring) -> Bool {
    if name.first == "[" {
      return name.dropFirst().dropLast().allSatisfy { $0.isHexDigit || $0 == ":" || $0 == "." }
    }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil && $0.allSatisfy(\.isNumber) }
  }
}
