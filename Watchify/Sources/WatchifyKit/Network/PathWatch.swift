#if canImport(Network)
  import CofferCore
  import Foundation
  import Network

  /// Watches the state of the network with `NWPathMonitor`.
  final class PathWatch: Sendable {
    /// The state reported last; connected until the first report.
    var state: NetworkState { seen.withLock { $0 } }

    private let monitor = NWPathMonitor()
    private let seen = Locked(NetworkState(isConnected: true, connectionType: .unknown))

    init(onChange: @escaping @Sendable () -> Void) {
      monitor.pathUpdateHandler = { [seen] path in
        seen.withLock { $0 = Self.state(of: path) }
        onChange()
      }
      monitor.start(queue: DispatchQueue(label: "watchify.network"))
    }

    deinit { stop() }

    func stop() { monitor.cancel() }

    private static func state(of path: NWPath) -> NetworkState {
      let isConnected = path.status == .satisfied
      let types: [(NWInterface.InterfaceType, NetworkMonitor.ConnectionType)] = [
        (.wifi, .wifi), (.cellular, .cellular), (.wiredEthernet, .wired),
      ]
      let type = types.first { path.usesInterfaceType($0.0) }?.1
      return NetworkState(isConnected: isConnected, connectionType: isConnected ? type ?? .unknown : .unknown)
    }
  }
#endif
