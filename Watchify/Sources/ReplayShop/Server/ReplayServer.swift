import CofferLocks
public import Foundation
import WatchifyCMicrohttpd

/// A server on 127.0.0.1 that behaves like a Shopify storefront, including its faults.
///
/// It depends on neither a network nor the time: the same feed and script result in the same bytes.
public final class ReplayServer: Sendable {
  private struct Running {
    /// The address of the daemon, as an integer because a pointer is not sendable. It is only passed to C.
    let daemon: UInt
    let context: UInt
    let port: UInt16
  }

  private let core: ServerCore
  private let running = Locked<Running?>(nil)

  /// Creates a shop, which serves its products after `start(port:)`.
  public init(
    feed: ShopFeed, configuration: ReplayConfiguration = ReplayConfiguration(), timeline: ReplayTimeline? = nil
  ) {
    core = ServerCore(shop: ShopState(feed: feed, configuration: configuration, timeline: timeline))
  }

  deinit { stop() }

  /// Starts the server and returns its port; port 0 selects any free one.
  ///
  /// A stopped server may be started again, to simulate an outage; it keeps its log.
  @discardableResult
  public func start(port: UInt16 = 0) throws(ReplayError) -> UInt16 {
    try running.withLock { (running) throws(ReplayError) in
      guard running == nil else { throw .isRunning }
      core.clearStop()
      let context = Unmanaged.passRetained(core)
      guard let daemon = watchify_mhd_start(port, handleRequest, beginExchange, endExchange, context.toOpaque()) else {
        context.release()
        throw .cannotListen(port: port)
      }
      let bound = watchify_mhd_port(daemon)
      core.shop.withLock { $0.open(port: bound) }
      running = Running(
        daemon: UInt(bitPattern: daemon), context: UInt(bitPattern: context.toOpaque()), port: bound)
      return bound
    }
  }

  /// Ends all connections, including those with delayed responses, and returns when all threads have ended.
  public func stop() {
    let last = running.withLock { running in
      defer { running = nil }
      return running
    }
    guard let last, let daemon = OpaquePointer(bitPattern: last.daemon) else { return }
    core.signalStop()
    MHD_stop_daemon(daemon)
    if let context = UnsafeRawPointer(bitPattern: last.context) {
      Unmanaged<ServerCore>.fromOpaque(context).release()
    }
  }

  /// The port; `nil` unless the server is running.
  public var port: UInt16? { running.withLock { $0?.port } }

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
