public import Foundation

/// A checked address to which a channel delivers.
public struct ChannelTarget: Hashable, Sendable {
  /// The error for an address to which a channel cannot deliver. It never contains the address, which may be a secret.
  public struct Invalid: LocalizedError, Hashable, Sendable {
    /// The reason as a sentence for display.
    public let reason: String
    public var errorDescription: String? { reason }
  }

  /// The whole address, which may contain a token.
  let url: URL
  /// The host, and the port unless it is the default one.
  public let host: String
  /// The addresses to which the host may resolve.
  let reach: NetworkReach

  /// Checks an address.
  /// - Parameters:
  ///   - text: the address: `https://…`, or `smtp://…` and `smtps://…` for e-mail.
  ///   - kind: the kind of the channel.
  ///   - allowsPrivate: whether private and loopback addresses are allowed, over plain HTTP as well.
  /// - Throws: ``Invalid``.
  public init(_ text: String, kind: ChannelKind, allowsPrivate: Bool) throws {
    func invalid(_ reason: String) -> Invalid { Invalid(reason: reason) }
    let isPlain = text.utf8.count <= 2_048 && text.unicodeScalars.allSatisfy { $0.value > 0x20 && $0.value != 0x7F }
    guard isPlain, var parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
      let host = parts.encodedHost?.lowercased(), !host.isEmpty, host.utf8.allSatisfy({ $0 < 0x80 })
    else { throw invalid("This is not an address such as \(Self.example(kind)).") }
    guard parts.user == nil, parts.password == nil else {
      throw invalid("The address must not contain a user or a password: give the password as the channel's secret.")
    }
    let schemes = kind == .email ? ["smtp", "smtps"] : ["https", "http"]
    guard schemes.contains(scheme) else {
      throw invalid("The address must begin with \(schemes[0])://, such as \(Self.example(kind)).")
    }
    guard allowsPrivate || !Self.isPrivate(host) else {
      throw invalid(
        "\(host) is an address of this device or of a private network: add the channel with --allow-private if it is "
          + "meant.")
    }
    guard scheme != "http" || allowsPrivate else {
      throw invalid("The address must begin with https://: over plain HTTP, everybody on the way could read it.")
    }
    parts.scheme = scheme
    parts.fragment = nil
    guard let url = parts.url else { throw invalid("This is not an address such as \(Self.example(kind)).") }
    try Self.check(url, kind)
    self.url = url
    self.host = parts.port.map { "\(host):\($0)" } ?? host
    reach = allowsPrivate ? (scheme == "http" ? .ownNetworks : .anywhere) : .internet
  }

  /// Checks the path, which names a topic or room for some kinds.
  private static func check(_ url: URL, _ kind: ChannelKind) throws {
    let last = url.path.split(separator: "/").last ?? ""
    switch kind {
    case .ntfy where last.isEmpty: throw Invalid(reason: "The address must end in a topic: \(example(kind)).")
    case .matrix where !last.hasPrefix("!"):
      throw Invalid(reason: "The address must end in the id of a room: \(example(kind)).")
    default: return
    }
  }

  /// Whether a host is obviously on this device or in a private network. Names that resolve to such an address are
  /// detected when the channel connects.
  private static func isPrivate(_ host: String) -> Bool {
    let bare = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    if let address = NetworkAddress(bare) { return address.scope != .internet }
    guard let address = try? ShopAddress(host) else { return host == "localhost" }
    return address.reach != .internet
  }

  private static func example(_ kind: ChannelKind) -> String {
    switch kind {
    case .json: "https://example.org/hook"
    case .ntfy: "https://ntfy.sh/my-topic"
    case .discord: "https://discord.com/api/webhooks/..."
    case .slack: "https://hooks.slack.com/services/..."
    case .gotify: "https://gotify.example.org"
    case .matrix: "https://matrix.example.org/!room:example.org"
    case .email: "smtp://mail.example.org:587"
    }
  }
}
