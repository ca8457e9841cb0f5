import CofferCore
public import Foundation
import WatchifyHTTP

/// A server on 127.0.0.1 that behaves like a Shopify storefront, including its faults.
///
/// It depends on neither a network nor the time: the same feed and script result in the same bytes.
public final class ReplayServer: Sendable {
  private let core: ShopHandler
  private let server: HTTPServer

  /// Creates a shop, which serves its products after `start(port:)`.
  public init(
    feed: ShopFeed, configuration: ReplayConfiguration = ReplayConfiguration(), timeline: ReplayTimeline? = nil
  ) {
    let core = ShopHandler(shop: ShopState(feed: feed, configuration: configuration, timeline: timeline))
    self.core = core
    var limits = HTTPServer.Limits()
    limits.bodyBytes = 64 << 20
    // Only the faults of the shop end a connection.
    limits.idleTimeout = .seconds(86_400)
    limits.requestTimeout = .seconds(86_400)
    server = HTTPServer(configuration: .init(limits: limits)) { await core.respond(to: $0) }
  }

  deinit { stop() }

  /// Starts the server and returns its port; port 0 selects any free one.
  ///
  /// A stopped server may be started again, to simulate an outage; it keeps its log.
  @discardableResult
  public func start(port: UInt16 = 0) throws(ReplayError) -> UInt16 {
    do {
      let bound = try server.start(port: port)
      core.shop.withLock { $0.open(port: bound) }
      return bound
    } catch .isRunning {
      throw .isRunning
    } catch {
      throw .cannotListen(port: port)
    }
  }

  /// Ends all connections, including those with delayed responses, and returns when nothing is served any more.
  public func stop() { server.terminate() }

  /// The port; `nil` unless the server is running.
  public var port: UInt16? { server.port }

  /// The URL `http://127.0.0.1:PORT`; `nil` unless the server is running.
  public var url: URL? { port.flatMap { URL(string: "http://127.0.0.1:\($0)") } }

  // MARK: The shop

  /// The current feed.
  public var feed: ShopFeed { core.shop.withLock { $0.feed } }

  /// Replaces the feed, from the next request on.
  public func set(feed: ShopFeed) { core.shop.withLock { $0.set(feed: feed) } }

  /// Changes the feed atomically; not at all if the closure throws.
  public func update<E: Error>(_ change: (inout ShopFeed) throws(E) -> Void) throws(E) {
    try core.shop.withLock { (shop) throws(E) in try shop.update(change) }
  }

  /// Applies the next step of the timeline and returns its name; `nil` if there is none left.
  @discardableResult
  public func advance() throws -> String? {
    try core.shop.withLock { shop in try shop.advance() }
  }

  /// The names of the remaining steps.
  public var stepsLeft: [String] { core.shop.withLock { $0.steps.map(\.name) } }

  /// Changes the configuration, from the next request on.
  public func configure(_ change: (inout ReplayConfiguration) -> Void) {
    core.shop.withLock { $0.configure(change) }
  }

  // MARK: Faults

  /// Appends scripted responses for the next requests for `/products.json`: each request consumes the first entry that
  /// matches its page.
  public func script(_ entries: [ScriptEntry]) { core.shop.withLock { $0.script += entries } }

  /// The entries not yet consumed by a request.
  public var scriptLeft: [ScriptEntry] { core.shop.withLock { $0.script } }

  /// Sets a fault for every request except those for `/robots.txt`, `/password` and images; `nil` ends it.
  ///
  /// - Parameters:
  ///   - fault: the fault, or `nil`.
  ///   - page: restricts the fault to lists of this page; `nil` for all requests.
  public func set(mode fault: ReplayFault?, page: Int? = nil) {
    core.shop.withLock { $0.mode = fault.map { ScriptEntry.fault($0, page: page) } }
  }

  // MARK: The log

  /// The log of requests, in the order of arrival, without those to the control routes.
  public var requests: [RequestRecord] { core.shop.withLock { $0.requests } }

  /// The maximum number of concurrent requests.
  ///
  /// A request counts until its last byte is sent, so consecutive requests never overlap. Responses take microseconds:
  /// set `latency` to make concurrent requests overlap.
  public var maximumInFlight: Int { core.shop.withLock { $0.maximumInFlight } }

  /// Empties the log.
  public func forgetRequests() { core.shop.withLock { $0.forgetRequests() } }
}
