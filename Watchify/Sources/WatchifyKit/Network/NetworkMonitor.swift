import Foundation
public import Observation

/// Whether the network can be reached, and over what.
///
/// "Can be reached" means that the system has a default route over an interface that is up. Whether a shop answers
/// shows only when it is asked.
@MainActor @Observable
public final class NetworkMonitor {
  /// The application's own.
  public static let shared = NetworkMonitor()

  /// What the connection goes over.
  public enum ConnectionType: String, CaseIterable, Codable, Sendable {
    /// A wireless network.
    case wifi
    /// A mobile network.
    case cellular
    /// A cable, or what takes the place of one: a bridge, a tunnel.
    case wired
    /// Not connected, or over something that the system does not tell.
    case unknown
  }

  /// Whether there is a network. `true` until ``start()`` has looked: nothing is held back on a mere guess.
  public private(set) var isConnected = true
  /// Over what; ``ConnectionType/unknown`` when there is no network.
  public private(set) var connectionType = ConnectionType.unknown

  @ObservationIgnored private let feed = ConnectivityFeed(true)
  @ObservationIgnored private let makeWatch: @Sendable (@escaping @Sendable () -> Void) -> NetworkWatch
  @ObservationIgnored private var watch: NetworkWatch?

  #if canImport(Network)
    typealias NetworkWatch = PathWatch

    /// A monitor, which does nothing until ``start()``.
    public convenience init() { self.init { PathWatch(onChange: $0) } }
  #else
    /// A monitor, which does nothing until ``start()``.
    public convenience init() {
      self.init(reader: NetworkReader(root: URL(fileURLWithPath: "/")))
    }

    /// A monitor of another tree of `/proc` and `/sys`.
    convenience init(reader: NetworkReader, pause: Duration = .milliseconds(100), poll: Duration = .seconds(30)) {
      self.init { NetworkWatch(reader: reader, pause: pause, poll: poll, onChange: $0) }
    }
  #endif

  private init(makeWatch: @escaping @Sendable (@escaping @Sendable () -> Void) -> NetworkWatch) {
    self.makeWatch = makeWatch
  }

  /// Begins to watch. On Linux it looks at once, so what the properties say is true when it returns.
  public func start() {
    guard watch == nil else { return }
    watch = makeWatch { [weak self] in
      // The newest state is read there, so the order in which such tasks run does not matter.
      Task { @MainActor in self?.update() }
    }
    update()
  }

  /// Ends watching; the properties stay as they are. It can be started again.
  public func stop() {
    watch?.stop()
    watch = nil
  }

  /// Whether there is a network: first the present state, then each change, to any number of listeners.
  ///
  /// A listener that is busy gets the newest state alone. The stream goes on over ``stop()`` and ``start()``.
  public func changes() -> AsyncStream<Bool> { feed.listen() }

  private func update() {
    guard let state = watch?.state else { return }
    if isConnected != state.isConnected { isConnected = state.isConnected }
    if connectionType != state.connectionType { connectionType = state.connectionType }
    feed.send(state.isConnected)
  }

  /// The watch, for tests.
  var currentWatch: NetworkWatch? { watch }
}
