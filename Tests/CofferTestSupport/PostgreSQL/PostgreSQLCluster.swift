import CofferTesting
import Foundation

/// A primary and two standbys, of which one must confirm each commit, and what supervises them.
///
/// The supervisor ends or cuts off the primary first, asks *both* standbys how much they have received, and promotes
/// the one that has more: it has every acknowledged commit, since one of the two has confirmed it. The old primary
/// comes back only as a fresh copy.
package actor PostgreSQLCluster {
  /// What happens to the primary.
  package enum Fault: String, CaseIterable, Sendable {
    /// Its processes are killed.
    case kill
    /// Its standbys cannot reach it; clients can.
    case isolate
    /// Its processes are stopped; the kernel still acknowledges what clients send.
    case stop
  }

  private var servers: [PostgreSQLServer]
  private let replication: [LinkProxy]
  private let clients: [LinkProxy]
  private(set) package var primary = 0
  private var heldBack = 0

  private static func name(_ index: Int) -> String { "node\(index)" }

  /// Starts the servers.
  /// - Parameter isDurable: whether they sync, which tests of processes do without.
  package init(isDurable: Bool = false) async throws {
    let settings = [
      "wal_keep_size = 512MB", "wal_receiver_timeout = 3s", "wal_retrieve_retry_interval = 200ms",
      // Standbys confirm at once, and show commits later: reads from one would be noticed.
      "recovery_min_apply_delay = 100ms", "fsync = \(isDurable ? "on" : "off")",
    ]
    let first = try await PostgreSQLServer(settings: settings)
    var servers = [first]
    var replication = [try LinkProxy(to: first.port)]
    for index in 1...2 {
      let standby = try await PostgreSQLServer(
        standbyOf: first, named: Self.name(index), through: replication[0].port)
      servers.append(standby)
      replication.append(try LinkProxy(to: standby.port))
    }
    self.servers = servers
    self.replication = replication
    clients = try servers.map { try LinkProxy(to: $0.port) }
    try await demandStandbys(of: 0)
  }

  /// The hosts for the location of a store.
  package var hosts: String { clients.map { "127.0.0.1:\($0.port)" }.joined(separator: ",") }

  /// The server that takes writes.
  package var leader: PostgreSQLServer { servers[primary] }

  private func others(than index: Int) -> [Int] { [0, 1, 2].filter { $0 != index } }

  private func demandStandbys(of index: Int) async throws {
    let names = others(than: index).map(Self.name).joined(separator: ", ")
    try await servers[index].psql("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (\(names))'")
    try await servers[index].psql("SELECT pg_reload_conf()")
  }

  /// Makes the primary fail, and promotes a standby.
  /// - Parameter fencing: whether the old primary is then ended, and replaced by a standby.
  package func failover(_ fault: Fault, fencing: Bool = true) async throws {
    let old = primary
    switch fault {
    case .kill: servers[old].kill()
    case .isolate:
      replication[old].mode = .cut
      // The first commit may have reached a standby that could not say so.
      try await Task.sleep(for: .seconds(5))  // time passes: clients wait for two answers
    case .stop: servers[old].pause()
    }
    let standbys = others(than: old)
    var received: [UInt64] = []
    for index in standbys { received.append(try await position(of: index)) }
    let new = received[0] >= received[1] ? standbys[0] : standbys[1]
    let other = standbys[0] + standbys[1] - new
    try await servers[new].psql("SELECT pg_promote(true, 30)")
    try await demandStandbys(of: new)
    let source = PostgreSQLServer.source(replication[new].port, Self.name(other))
    try await servers[other].psql("ALTER SYSTEM SET primary_conninfo = '\(source)'")
    try await servers[other].psql("SELECT pg_reload_conf()")
    primary = new
    if fencing { try await rebuild(old) }
  }

  /// Lets one standby receive nothing more until the next failover, by turns: promoting it would lose commits.
  package func holdBack() async throws {
    let standbys = others(than: primary)
    let index = standbys[heldBack % 2]
    heldBack += 1
    try await servers[index].psql("ALTER SYSTEM SET primary_conninfo = ''")
    try await servers[index].psql("SELECT pg_reload_conf()")
    let leader = servers[primary]
    try await eventually("the standby receives nothing") {
      try await leader.psql("SELECT count(*) FROM pg_stat_replication") == "1"
    }
  }

  /// The position in the log up to which a standby has received it, once it receives nothing more.
  private func position(of index: Int) async throws -> UInt64 {
    let text = try await servers[index].psql(
      "SELECT pg_wal_lsn_diff(greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()), '0/0')")
    guard let position = UInt64(text) else { throw TestFailure("no position: \(text)") }
    return position
  }

  /// Replaces a server by a fresh standby of the primary.
  private func rebuild(_ index: Int) async throws {
    let port = servers[index].port
    servers[index].resume()
    servers[index].kill()
    servers[index].stop()
    replication[index].mode = .open
    clients[index].mode = .open
    servers[index] = try await PostgreSQLServer(
      standbyOf: servers[primary], named: Self.name(index), through: replication[primary].port, port: port)
  }

  /// Cuts the connections of clients to the primary, or lets them connect again.
  package func cutClients(_ isCut: Bool) { clients[primary].mode = isCut ? .cut : .open }

  /// Ends the processes of the primary that are committing, as an administrator may.
  package func terminateCommits() async throws {
    try await servers[primary].psql(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'coffer' "
        + "AND (wait_event = 'SyncRep' OR state = 'active')")
  }

  /// Takes one standby away, or brings it back as a fresh copy.
  package func loseStandby() async throws {
    let index = others(than: primary)[0]
    servers[index].kill()
    try await rebuild(index)
  }
}
