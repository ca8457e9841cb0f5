import CofferCore
import CofferTesting
import Foundation

/// A primary and two standbys under pg_auto_failover, whose monitor itself promotes a standby when the primary fails.
package final class AutoFailoverCluster: Sendable {
  private static let program = "/usr/bin/pg_autoctl"

  /// Why no cluster can be started here; `nil` if one can.
  package static let obstacle: String? = {
    if let obstacle = PostgreSQLServer.obstacle { return obstacle }
    return FileManager.default.isExecutableFile(atPath: program)
      ? nil : "pg_auto_failover is not installed (postgresql-15-auto-failover)."
  }()

  private let folder: URL
  /// The port of the monitor, and those of the nodes.
  private let monitor: Int
  private let nodes: [Int]
  private let keepers = Locked<[Int: Process]>([:])

  /// Starts the monitor and the nodes, and returns once both standbys follow.
  package init() async throws {
    folder = URL(fileURLWithPath: "/tmp/coffer-af-\(UUID().uuidString.prefix(8))")
    monitor = try PostgreSQLServer.freePort()
    nodes = try (0..<3).map { _ in try PostgreSQLServer.freePort() }
    try FileManager.default.createDirectory(
      at: folder.appendingPathComponent("run"), withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700])
    if getuid() == 0, let user = getpwnam("postgres")?.pointee {
      for path in [folder.path, folder.path + "/run"] { chown(path, user.pw_uid, user.pw_gid) }
    }
    let common = [
      "--pgctl", "\(PostgreSQLServer.binaries ?? "")/pg_ctl", "--auth", "trust", "--no-ssl", "--hostname", "127.0.0.1",
      "--run",
    ]
    try start(monitor, ["create", "monitor", "--pgdata", data(monitor), "--pgport", "\(monitor)"] + common)
    try await until("the monitor runs") { try await self.ask("SELECT 1") == "1" }
    // The defaults notice a failure after half a minute.
    for setting in ["health_check_period = 1000", "node_considered_unhealthy_timeout = 5000"] {
      try await psql("ALTER SYSTEM SET pgautofailover.\(setting)", port: monitor)
    }
    try await psql("SELECT pg_reload_conf()", port: monitor)
    let uri = "postgres://autoctl_node@127.0.0.1:\(monitor)/pg_auto_failover?sslmode=disable"
    for node in nodes {
      try start(
        node,
        [
          "create", "postgres", "--pgdata", data(node), "--pgport", "\(node)", "--name", "n\(node)", "--monitor", uri,
        ] + common)
      try await until("a node joins") {
        try await self.ask("SELECT count(*) FROM pgautofailover.node") >= self.number(node)
      }
    }
    try await untilComplete()
  }

  deinit {
    for (_, keeper) in keepers.withLock({ $0 }) { Self.end(keeper) }
    try? FileManager.default.removeItem(at: folder)
  }

  /// The number of nodes up to one, as text.
  private func number(_ node: Int) -> String { "\((nodes.firstIndex(of: node) ?? 0) + 1)" }

  private func data(_ port: Int) -> String { folder.appendingPathComponent("\(port)").path }

  /// The hosts for the location of a store.
  package var hosts: String { nodes.map { "127.0.0.1:\($0)" }.joined(separator: ",") }

  // MARK: Processes

  private func start(_ port: Int, _ arguments: [String]) throws {
    let process = Process()
    // Its input ends with the test's process, after which nothing is left.
    let script = """
      "$@" >> \(folder.path)/log 2>&1 &
      pid=$!; trap '' INT TERM; read -r order; kill -INT $pid; wait $pid; rm -rf \(data(port))
      """
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["-c", script, "keeper"] + PostgreSQLServer.launcher + [Self.program] + arguments
    process.environment = [
      "PATH": "\(PostgreSQLServer.binaries ?? ""):/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": folder.path,
      "XDG_DATA_HOME": folder.path + "/share", "XDG_CONFIG_HOME": folder.path + "/config",
      "XDG_RUNTIME_DIR": folder.path + "/run",
    ]
    process.currentDirectoryURL = folder
    process.standardInput = Pipe()
    try process.runUnblocked()
    keepers.withLock { $0[port] = process }
  }

  private static func end(_ keeper: Process) {
    try? (keeper.standardInput as? Pipe)?.fileHandleForWriting.close()
    try? blockUntil("the keeper ends") { !keeper.isRunning }
    if keeper.isRunning { kill(keeper) }
  }

  /// Ends a keeper and everything that it has started with `SIGKILL`.
  private static func kill(_ keeper: Process) {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc"))?.compactMap(Int32.init) ?? []
    let parents = all.map { ($0, PostgreSQLServer.parent(of: $0)) }
    var tree = [keeper.processIdentifier]
    var index = 0
    while index < tree.count {
      tree += parents.filter { $0.1 == tree[index] }.map(\.0)
      index += 1
    }
    for process in tree { Glibc.kill(process, SIGKILL) }
  }

  // MARK: Failures

  /// Kills the primary with its keeper, waits for another, and takes the node back.
  package func failover() async throws {
    let old = try await primary()
    guard let keeper = keepers.withLock({ $0[old] }) else { throw TestFailure("no keeper") }
    Self.kill(keeper)
    try await until("another primary") {
      let new = try? await self.primary()
      return new != nil && new != old
    }
    try start(old, ["run", "--pgdata", data(old)])
    try await untilComplete()
  }

  /// The port of the server that takes writes.
  package func primary() async throws -> Int {
    let ports = try await ask(
      "SELECT nodeport FROM pgautofailover.node WHERE goalstate IN ('primary', 'wait_primary') "
        + "AND reportedstate = goalstate")
    guard let port = Int(ports) else { throw TestFailure("no primary: \(ports)") }
    return port
  }

  private func untilComplete() async throws {
    try await until("a primary and two standbys") {
      try await self.ask(
        "SELECT string_agg(reportedstate::text, ',' ORDER BY reportedstate) FROM pgautofailover.node "
          + "WHERE reportedstate = goalstate") == "primary,secondary,secondary"
    }
  }

  private func until(_ what: String, _ condition: () async throws -> Bool) async throws {
    do { try await eventually(what) { (try? await condition()) ?? false } } catch let failure as TestFailure {
      let log = (try? String(contentsOfFile: folder.path + "/log", encoding: .utf8)) ?? ""
      throw TestFailure("\(failure)\n\(log.suffix(2_000))")
    }
  }

  // MARK: Questions

  private func ask(_ sql: String) async throws -> String {
    try await psql(sql, port: monitor, database: "pg_auto_failover")
  }

  /// Runs SQL on a server as the superuser, and returns its output.
  @discardableResult
  package func psql(_ sql: String, port: Int, database: String = "postgres") async throws -> String {
    try await PostgreSQLServer.run(
      [
        "/usr/bin/psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-p", "\(port)", "-U",
        "postgres", "-d", database, "-c", sql,
      ], home: folder)
  }
}
