/// The state of the network at one time.
struct NetworkState: Hashable, Sendable {
  var isConnected: Bool
  var connectionType: NetworkMonitor.ConnectionType
}
