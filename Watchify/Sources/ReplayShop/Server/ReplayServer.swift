import CofferLocks
public import Foundation
import WatchifyCMicrohttpd

/// A shop on 127.0.0.1 that answers as Shopify's storefronts do, in good times and in bad.
///
/// Nothing in it depends on a network or on the time: the same feed and the same script give the same bytes.
public final class ReplayServer: Sendable {
  private struct Running {
    /// The daemon's address, as a number: a pointer may not cross threads, and this one only goes back to C.
    let daemon: UInt
    let context: UInt
    let port: UInt16
  }

  private let core: ServerCore
  private let running = Locked<Running?>(nil)

  /// A shop with these products; it serves them once it is started.
  public init(
    feed: ShopFeed, configuration: ReplayConfiguration = ReplayConfiguration(), timeline: ReplayTimeline? = nil
  ) {
    core = ServerCore(shop: ShopState(feed: feed, configuration: configuration, timeline: timeline))
  }

  deinit { stop() }

  /// Serves from now on, and tells the port; 0 takes any.
  ///
  /// A server that was stopped may be started again, as a shop is back after an outage: it keeps its log.
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

  /// Ends all connections, also those whose answers are late, and returns when no thread is left.
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

  /// The port while the server runs.
  public var port: UInt16? { running.withLock { $0?.port } }

  /// `http://127.0.0.1:PORT` while the server runs.
  public var url: URL? { port.flatMap { URL(string: "http://127.0.0.1:\($0)") } }

  // MARK: The shop

  /// What the shop sells now.
  public var feed: ShopFeed { core.shop.withLock { $0.feed } }

  /// Sells something else from the next request on.
  public func set(feed: ShopFeed) { core.shop.withLock { $0.set(feed: feed) } }

  /// Changes what the shop sells, all at once or, when you throw, not at all.
  public func update<E: Error>(_ change: (inout ShopFeed) throws(E) -> Void) throws(E) {
    try core.shop.withLock { (shop) throws(E) in try shop.update(change) }
  }

  /// Takes the timeline's next step, and tells its name; `nil` when there is none left.
  @discardableResult
  public func advance() throws -> String? {
    try core.shop.withLock { shop in try shop.advance() }
  }

  /// The names of the steps to come.
  public var stepsLeft: [String] { core.shop.withLock { $0.steps.map(\.name) } }

  /// Changes how the shop presents itself from the next request on.
  public func configure(_ change: (inout ReplayConfiguration) -> Void) {
    core.shop.withLock { $0.configure(change) }
  }

  // MARK: Faults

  /// Appends what happens to the coming requests for `/products.json`: each takes the first entry that fits its page.
  public func script(_ entries: [ScriptEntry]) { core.shop.withLock { $0.script += entries } }

  /// The entries that no request has taken yet.
  public var scriptLeft: [ScriptEntry] { core.shop.withLock { $0.script } }

  /// Lets this go wrong with every request but those for `/robots.txt`, `/password` and pictures; `nil` ends it.
  ///
  /// - Parameters:
  ///   - fault: what goes wrong.
  ///   - page: only with lists of this page.
  public func set(mode fault: ReplayFault?, page: Int? = nil) {
    core.shop.withLock { $0.mode = fault.map { ScriptEntry.fault($0, page: page) } }
  }

  // MARK: The log

  /// All requests so far, in the order in which they came; the controls are not among them.
  public var requests: [RequestRecord] { core.shop.withLock { $0.requests } }

  /// How many requests were being answered at once at most.
  ///
  /// A request counts until its last byte is handed out, so requests one after the other never count as two. Answers
  /// take microseconds: set `latency` to see the overlap of requests that come together.
  public var maximumInFlight: Int { core.shop.withLock { $0.maximumInFlight } }

  /// Empties the log.
  public func forgetRequests() { core.shop.withLock { $0.forgetRequests() } }
}
