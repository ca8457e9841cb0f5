import CofferCore
public import Foundation
public import WatchifyHTTP
public import WatchifyKit

/// The page as a server: a ``WatchifySite`` with its security, its live events and its pictures.
///
/// ```swift
/// let server = try SiteServer(service: service, container: container, pictures: directory)
/// try server.start()
/// print(server.url)  // http://127.0.0.1:8737/
/// await server.stop()
/// ```
public final class SiteServer: Sendable {
  /// The usual port.
  public static let usualPort: UInt16 = 8_737

  /// Where the server listens, and for whom.
  public struct Configuration: Sendable {
    /// The numeric address to listen at; "127.0.0.1" by default. Any other than a loopback address requires an
    /// ``accessToken`` and ``tls``.
    public var host = "127.0.0.1"
    /// The port; 0 for any free one.
    public var port = SiteServer.usualPort
    /// A listening TCP socket to use instead of ``host`` and ``port``, as systemd passes it. Its address has the same
    /// requirements.
    public var listeningDescriptor: Int32?
    /// Further names by which clients reach the server, such as that of a reverse proxy.
    public var names: [String] = []
    /// The address at a reverse proxy; `nil` for none. It has the requirements of an address to listen at.
    public var publicAddress: PublicAddress?
    /// The numeric addresses of reverse proxies, as `PeerAddress` spells them. Their `X-Forwarded-For` states their
    /// clients. With a ``publicAddress``, those of this device are also such.
    public var trustedProxies: [String] = []
    /// The token that clients present, at least 16 characters; `nil` if everyone on this device may use the page.
    public var accessToken: String?
    /// The identity for TLS; `nil` for plain HTTP.
    public var tls: TLSIdentity?

    /// Creates the default configuration.
    public init() {}

    /// Returns this configuration with the address of a passed socket.
    /// - Throws: ``Refusal`` if it would expose the page.
    public func checked() throws(Refusal) -> Configuration {
      if let token = accessToken, token.utf8.count < SiteServer.shortestToken { throw .shortToken }
      var checked = self
      if let descriptor = listeningDescriptor {
        guard let address = ListeningAddress(descriptor: descriptor) else { throw .notTCP(descriptor: descriptor) }
        (checked.host, checked.port) = (address.host, address.port)
      }
      let here = (checked.host, tls != nil, SiteAddress.isLoopback(checked.host) || checked.host == "localhost")
      let there = publicAddress.map { [($0.host, $0.isSecure, $0.isOfThisDevice)] } ?? []
      for (host, isSecure, isOwn) in [here] + there where !isOwn {
        guard accessToken != nil else { throw .needsToken(host: host) }
        guard isSecure else { throw .needsTLS(host: host) }
      }
      return checked
    }
  }

  /// A configuration that would expose the page.
  public enum Refusal: Error, Sendable, Hashable, CustomStringConvertible {
    /// Other devices could reach the page without a token.
    case needsToken(host: String)
    /// The token and the pages would cross the network in plain.
    case needsTLS(host: String)
    /// The token could be guessed.
    case shortToken
    /// The passed descriptor is not a TCP socket: a Unix socket, for example.
    case notTCP(descriptor: Int32)

    /// The error as sentences.
    public var description: String {
      switch self {
      case .needsToken(let host):
        "Other devices can reach \(host), so an access token is required. The page was not started."
      case .needsTLS(let host):
        "Other devices can reach \(host), so TLS is required: without it, everybody on the way could read the access"
          + " token. The page was not started."
      case .shortToken: "The access token is too short: it needs at least 16 characters. The page was not started."
      case .notTCP(let descriptor):
        "The passed descriptor \(descriptor) is not a TCP socket, so browsers could not reach the page, which was not"
          + " started. Let ListenStream= of the socket unit state an address and a port, such as 127.0.0.1:8737."
      }
    }
  }

  /// The shortest access token, in bytes.
  public static let shortestToken = 16

  private let configuration: Configuration
  private let service: StoreService
  private let container: ModelContainer
  private let options: SiteOptions
  private let pictures: PictureCache
  private let live: LiveFeed
  private let running = Locked<(server: HTTPServer, feed: Task<Void, Never>)?>(nil)

  /// Creates a server, which serves after ``start()``.
  /// - Parameters:
  ///   - service: the stores.
  ///   - container: the database of `service`.
  ///   - pictures: the directory of the cache of pictures.
  ///   - configuration: the address and the access.
  ///   - options: the environment of the pages. Its form token and its refusal are set by the server.
  /// - Throws: ``Refusal``.
  public init(
    service: StoreService, container: ModelContainer, pictures: URL, configuration: Configuration = .init(),
    options: SiteOptions = SiteOptions()
  ) throws(Refusal) {
    self.configuration = try configuration.checked()
    self.service = service
    self.container = container
    self.options = options
    self.pictures = PictureCache(directory: pictures, source: PictureSource())
    live = LiveFeed(service: service)
  }

  /// Starts the server.
  /// - Throws: `HTTPServerError`, such as for a port that is in use.
  public func start() throws(HTTPServerError) {
    try running.withLock { (running) throws(HTTPServerError) in
      guard running == nil else { throw .isRunning }
      var limits = HTTPServer.Limits()
      limits.bodyBytes = 64 << 10
      // A browser opens six connections to a server, and a live page keeps one.
      limits.connections = 600
      let handler = Locked<Handler?>(nil)
      let server = HTTPServer(
        configuration: HTTPServer.Configuration(
          host: configuration.host, port: configuration.port,
          listeningDescriptor: configuration.listeningDescriptor, tls: configuration.tls, limits: limits)
      ) { request in
        // A server that could not be started receives no request.
        await handler.withLock { $0 }?.respond(to: request) ?? HTTPResponse(503)
      }
      // The port is part of the address that requests have to name. Those that waited in the queue of a passed socket
      // arrive at once, and are held by the lock until the handler is there.
      try handler.withLock { (handler) throws(HTTPServerError) in
        handler = makeHandler(port: try server.start())
      }
      running = (server, Task { [live] in await live.run() })
    }
  }

  private func makeHandler(port: UInt16) -> Handler {
    let isSecure = configuration.publicAddress?.isSecure ?? (configuration.tls != nil)
    let guardian = SiteGuard(
      address: SiteAddress(
        host: configuration.host, port: port, names: configuration.names, isSecure: configuration.tls != nil,
        publicAddress: configuration.publicAddress),
      accessToken: configuration.accessToken, isSecure: isSecure)
    var options = options
    options.formToken = { _ in guardian.formToken }
    options.feedToken = guardian.feedToken
    options.origin = configuration.publicAddress?.origin
    return Handler(
      guardian: guardian, live: live, pictures: PictureResponse(service: service, cache: pictures),
      site: WatchifySite(service: service, container: container, options: options),
      publicAddress: configuration.publicAddress, trustedProxies: configuration.trustedProxies, isSecure: isSecure)
  }

  /// The address of the page; `nil` unless the server is running.
  public var url: URL? {
    guard let port = running.withLock({ $0?.server.port }) else { return nil }
    if let address = configuration.publicAddress { return URL(string: address.description) }
    let scheme = configuration.tls == nil ? "http" : "https"
    let host =
      switch configuration.host {
      case "0.0.0.0": "127.0.0.1"
      case "::": "::1"
      default: configuration.host
      }
    let name = configuration.names.first ?? (host.contains(":") ? "[\(host)]" : host)
    return URL(string: "\(scheme)://\(name):\(port)/")
  }

  /// The number of open pages that are told of changes.
  public var livePageCount: Int { live.pageCount }

  /// Stops the server, and returns when all connections are closed.
  public func stop() async {
    let last = running.withLock { running in
      defer { running = nil }
      return running
    }
    guard let last else { return }
    last.feed.cancel()
    await last.feed.value
    await last.server.stop(grace: .seconds(1))
    await pictures.close()
  }
}

/// Answers requests in the order of what they may need: refusals, events, pictures, pages.
private struct Handler: Sendable {
  let guardian: SiteGuard
  let live: LiveFeed
  let pictures: PictureResponse
  let site: WatchifySite

  let publicAddress: PublicAddress?
  let trustedProxies: [String]
  let isSecure: Bool

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    var request = request
    request.peer = client(of: request)
    request.isSecure = isSecure
    guard let publicAddress else { return await answer(request) }
    // A proxy may remove the folder.
    if request.path.starts(with: publicAddress.folder) { request.path.removeFirst(publicAddress.folder.count) }
    return await Link.$folder.withValue(publicAddress.folderPath) { [request] in await answer(request) }
  }

  /// Returns the address of the client, which a trusted proxy states last in its list.
  private func client(of request: HTTPRequest) -> String {
    func isProxy(_ peer: String) -> Bool {
      trustedProxies.contains(peer) || publicAddress != nil && SiteAddress.isLoopback(peer)
    }
    let peer = PeerAddress.canonical(request.peer) ?? request.peer
    guard isProxy(peer) else { return peer }
    let hops = request.headers.filter { $0.name.lowercased() == "x-forwarded-for" }.flatMap {
      $0.value.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    }
    for hop in hops.reversed() {
      guard let client = PeerAddress.canonical(hop) else { return peer }
      if !isProxy(client) { return client }
    }
    return peer
  }

  private func answer(_ request: HTTPRequest) async -> HTTPResponse {
    if let refusal = guardian.refusal(of: request) { return refusal }
    if request.path == ["live"], request.method == "GET" {
      return live.response(after: request.header("Last-Event-ID"), to: request.peer)
    }
    if let picture = await pictures.response(to: request) { return picture }
    // The server cancels a handler once its client has sent the end of its stream. That client may still read, and a
    // form that somebody has sent is not to be carried out in part.
    return await Task { await site.respond(to: request) }.value
  }
}
