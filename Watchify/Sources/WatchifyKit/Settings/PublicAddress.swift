import Foundation

/// The address under which browsers reach the page through a reverse proxy, such as `https://nas.example/shops/`.
///
/// It alone decides what pages refer to. The fields `X-Forwarded-Host`, `-Proto` and `-Prefix` are not needed, and a
/// page of another site could send them to this device.
public struct PublicAddress: Sendable, Hashable, CustomStringConvertible {
  /// The origin, as browsers state it: without the port that is usual for the scheme.
  public let origin: String
  /// The values of the field `Host` that name it.
  public let hosts: [String]
  /// The components of the folder; none for the root.
  public let folder: [String]
  /// The numeric address or name, in lower case.
  public let host: String

  /// The names with which the paths of the page begin.
  public static let pages = [
    "activity", "assets", "demo", "favicon.ico", "feed.atom", "health", "jobs", "live", "login", "logout", "notify",
    "pictures", "products", "read", "resume", "settings", "shops", "wishes",
  ]

  /// Creates an address from a URL without user, query and fragment; `nil` for any other text, or a folder whose name a
  /// page has: a proxy may remove the folder or not, and both must be told apart.
  public init?(_ text: String) {
    guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), let parts = URLComponents(string: text),
      let scheme = parts.scheme?.lowercased(), ["http", "https"].contains(scheme),
      let host = parts.host?.lowercased(), !host.isEmpty, parts.user == nil, parts.password == nil, parts.query == nil,
      parts.fragment == nil, parts.port.map({ (1...65_535).contains($0) }) ?? true
    else { return nil }
    let folder = parts.percentEncodedPath.split(separator: "/").map(String.init)
    let isPlain = folder.allSatisfy { name in
      name.utf8.allSatisfy { "-_.~".utf8.contains($0) || $0.isASCIIAlphanumeric } && name != "." && name != ".."
    }
    guard isPlain, !(folder.first.map(Self.pages.contains) ?? false) else { return nil }
    let usual = scheme == "https" ? 443 : 80
    let port = parts.port ?? usual
    self.host = host
    self.folder = folder
    origin = "\(scheme)://\(host)" + (port == usual ? "" : ":\(port)")
    // Proxies pass the field on as the browser sent it, or without the port.
    hosts = [host, "\(host):\(port)"]
  }

  /// The URL, which ends with "/".
  public var description: String { origin + folderPath }
  /// The path of the folder, which begins and ends with "/".
  public var folderPath: String { "/" + folder.map { $0 + "/" }.joined() }
  /// Whether only this device reaches it.
  public var isOfThisDevice: Bool {
    host == "localhost" || PeerAddress.canonical(host).flatMap { NetworkAddress($0) }?.scope == .thisDevice
  }
  /// Whether browsers reach it by TLS.
  public var isSecure: Bool { origin.hasPrefix("https:") }
}

extension UInt8 {
  fileprivate var isASCIIAlphanumeric: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }
}
