import Foundation
public import Observation

/// Tracks whether the network is reachable, and over what type of connection.
///
/// The network counts as reachable when the system has a default route over an interface that is up. That does not
/// imply that a shop responds.
@MainActor @Observable
public final class NetworkMonitor {
  /// The instance shared by the application.
  public static let shared = NetworkMonitor()

  /// The type of a network connection.
  public enum ConnectionType: String, CaseIterable, Codable, Sendable {
    /// A wireless network.
    case wifi
    /// A mobile network.
    case cellular
    /// A wired network, or a virtual interface such as a bridge or tunnel.
    case wired
    /// Not connected, or connected over an interface of unknown type.
    case unknown
  }

  /// Whether the network is reachable. `true` before ``start()``, so that nothing is held back without a check.
  public private(set) var isConnected = true
  /// The type of the connection; ``ConnectionType/unknown`` while the network is not reachable.
  public private(set) var connectionType = ConnectionType.unknown

  @ObservationIgnored private let feed = ConnectivityFeed(true)
  @ObservationIgnored private let makeWatch: @Sendable (@escaping @Sendable () -> Void) -> NetworkWatch
  @ObservationIgnored private var watch: NetworkWatch?

  #if canImport(Network)
    typealias NetworkWatch = PathWatch

    /// Creates a monitor. It reports no changes before ``start()``.
    public convenience init() { self.init { PathWatch(onChange: $0) } }
  #else
    /// Creates a monitor. It reports no changes before ``start()``.
    public convenience init() {
      self.init(reader: NetworkReader(root: URL(fileURLWithPath: "/")))
    }

    /// Creates a monitor that reads another tree of `/proc` and `/sys`.
    convenience init(reader: NetworkReader, pause: Duration = .milliseconds(100), poll: Duration = .seconds(30)) {
      self.init { NetworkWatch(reader: reader, pause: pause, poll: poll, onChange: $0) }
    }
  #endif

  private init(makeWatch: @escaping @Sendable (@escaping @Sendable () -> Void) -> NetworkWatch) {
    self.makeWatch = makeWatch
  }

  /// Starts monitoring. On Linux the properties are up to date when this method returns.
  public func start() {
    guard watch == nil else { return }
    watch = makeWatch { [weak self] in
      // `update()` reads the newest state, so the order of these tasks does not matter.
      Task { @MainActor in self?.update() }
    }
    update()
  }

  /// Stops monitoring; the properties keep their values. Monitoring can be started again.
  public func stop() {
    watch?.stop()
    watch = nil
  }

  /// Returns a stream of ``isConnected``: the current value, then each change.
  ///
  /// A slow consumer may skip intermediate values but always receives the latest one. The stream continues across
  /// ``stop()`` and ``start()``, and any number of streams may exist.
  public func changes() -> AsyncStream<Bool> { feed.listen() }

  private func update() {
    guard let state = watch?.state else { return }
    if isConnected != state.isConnected { isConnected = state.isConnected }
    if connectionType != state.connectionType { connectionType = state.connectionType }
    feed.send(state.isConnected)
  }

  /// The active watch, for tests.
  var currentWatch: NetworkWatch? { watch }
}
