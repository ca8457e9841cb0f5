import CofferCore
import CofferTesting
package import Foundation

/// A PostgreSQL server of a test, on 127.0.0.1 and a Unix socket in a private folder. It ends with the test, or with
/// the test process.
package final class PostgreSQLServer: Sendable {
  /// Why no server can be started here; `nil` if one can.
  package static let obstacle: String? = {
    if binaries == nil { return "PostgreSQL 15 or newer is not installed (postgresql-15)." }
    if getuid() == 0, !FileManager.default.isExecutableFile(atPath: "/usr/bin/setpriv") {
      return "The server refuses to run as root, and setpriv is missing."
    }
    return nil
  }()

  /// The directory of the newest server's programs.
  package static let binaries: String? = {
    let root = "/usr/lib/postgresql"
    let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
    return versions.compactMap(Int.init).filter { $0 >= 15 }.max().map { "\(root)/\($0)/bin" }
  }()

  /// Runs a program as the user of servers, which must not be root.
  static var launcher: [String] {
    getuid() == 0 ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] : []
  }

  /// The folder of the data, the log and the socket. Socket paths are short, so it is not in the test's own folder.
  package let folder: URL
  package let port: Int
  private let running = Locked<Process?>(nil)
  private let input = Locked<FileHandle?>(nil)

  package var data: String { folder.appendingPathComponent("data").path }
  package var log: String {
    (try? String(contentsOfFile: folder.appendingPathComponent("log").path, encoding: .utf8)) ?? ""
  }

  /// Creates a cluster whose superuser is `postgres`, and starts it.
  /// - Parameters:
  ///   - settings: lines of `postgresql.conf`.
  ///   - rules: the lines of `pg_hba.conf`.
  ///   - log: the directory of the write-ahead log, which must not exist; `nil` for one in the data directory.
  package init(
    settings: [String] = ["fsync = off"], rules: [String] = ["local all all trust", "host all all 127.0.0.1/32 trust"],
    logIn log: String? = nil
  ) async throws {
    folder = URL(fileURLWithPath: "/tmp/coffer-pg-\(UUID().uuidString.prefix(8))")
    port = try Self.freePort()
    try await prepare()
    try await run(
      Self.launcher + [
        "\(Self.binaries ?? "")/initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8",
        "--locale=C.UTF-8",
      ] + (log.map { ["-X", $0] } ?? []))
    try await configure(settings, rules)
    try await start()
  }

  /// Creates a standby of another server, as a copy of its data, and starts it.
  /// - Parameters:
  ///   - name: the name of the standby in `synchronous_standby_names`.
  ///   - link: the port by which it reaches the primary.
  ///   - port: its own port; `nil` for a free one.
  package init(
    standbyOf primary: PostgreSQLServer, named name: String, through link: Int, port: Int? = nil
  ) async throws {
    folder = URL(fileURLWithPath: "/tmp/coffer-pg-\(UUID().uuidString.prefix(8))")
    self.port = try port ?? Self.freePort()
    try await prepare()
    try await run(
      Self.launcher + [
        "\(Self.binaries ?? "")/pg_basebackup", "-d",
        Self.source(link, name), "-D", data, "-R", "-X", "stream", "-c", "fast", "--no-sync",
      ])
    try await configure([], nil)
    try await start()
  }

  /// How a standby connects to its primary.
  static func source(_ port: Int, _ name: String) -> String {
    "host=127.0.0.1 port=\(port) user=postgres application_name=\(name) connect_timeout=3"
  }

  deinit {
    stop()
    try? FileManager.default.removeItem(at: folder)
  }

  private func prepare() async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    if getuid() == 0 { try await run(["/bin/chown", "postgres", folder.path]) }
  }

  private func configure(_ settings: [String], _ rules: [String]?) async throws {
    let lines = [
      "listen_addresses = '127.0.0.1'", "port = \(port)", "unix_socket_directories = '\(folder.path)'",
      "wal_level = replica", "max_wal_senders = 8", "hot_standby = on", "max_connections = 60", "shared_buffers = 32MB",
    ]
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: data + "/postgresql.conf"))
    try file.seekToEnd()
    try file.write(contentsOf: Data(((lines + settings).joined(separator: "\n") + "\n").utf8))
    try file.close()
    guard let rules else { return }
    let all = rules + ["local replication all trust", "host replication all 127.0.0.1/32 trust"]
    try (all.joined(separator: "\n") + "\n").write(toFile: data + "/pg_hba.conf", atomically: false, encoding: .utf8)
  }

  // MARK: The process

  /// Starts the server, and returns once it answers.
  package func start() async throws {
    let process = Process()
    let server = Self.launcher + ["\(Self.binaries ?? "")/postgres", "-D", data]
    // Its input ends with the test's process, after which nothing is left.
    let script = """
      "$@" >> \(folder.path)/log 2>&1 &
      pid=$!; trap '' INT TERM; read -r order; kill -CONT $pid; kill -QUIT $pid; wait $pid
      [ -n "$order" ] || rm -rf \(folder.path)
      """
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["-c", script, "server"] + server
    let pipe = Pipe()
    process.standardInput = pipe
    try process.runUnblocked()
    running.withLock { $0 = process }
    input.withLock { $0 = pipe.fileHandleForWriting }
    try await waitUntilReady()
  }

  private func waitUntilReady() async throws {
    do { try await eventually("the server starts") { (try? await psql("SELECT 1")) != nil } } catch is TestFailure {
      throw TestFailure("the server did not start: \(log)")
    }
  }

  /// Stops the server at once, as after a crash, and waits for its end.
  package func stop() {
    let process = running.withLock { running in
      defer { running = nil }
      return running
    }
    guard let process else { return }
    resume()
    let order = input.withLock { input in
      defer { input = nil }
      return input
    }
    order?.write(Data("stop\n".utf8))
    try? order?.close()
    try? blockUntil("the server ends") { !process.isRunning }
    if process.isRunning { kill() }
  }

  /// The identifiers of the server and of its processes, each of which has a session of its own.
  package var processes: [Int32] {
    guard let text = try? String(contentsOfFile: data + "/postmaster.pid", encoding: .utf8),
      let main = text.split(separator: "\n").first.flatMap({ Int32($0) })
    else { return [] }
    let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    let children = all.compactMap(Int32.init).filter { Self.parent(of: $0) == main }
    return [main] + children
  }

  static func parent(of process: Int32) -> Int32? {
    guard let stat = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8),
      let end = stat.lastIndex(of: ")")
    else { return nil }
    return stat[stat.index(after: end)...].split(separator: " ").dropFirst().first.flatMap { Int32($0) }
  }

  /// Ends all processes of the server with `SIGKILL`.
  package func kill() { signal(SIGKILL) }

  /// Stops all processes of the server with `SIGSTOP`: the kernel still acknowledges what is sent to it.
  package func pause() { signal(SIGSTOP) }

  private func signal(_ number: Int32) {
    // The main process first, which creates the others.
    let all = processes
    for process in all { Glibc.kill(process, number) }
    usleep(20_000)  // time passes: another one may have been on its way
    let new = Set(processes).subtracting(all)
    for process in new { Glibc.kill(process, number) }
  }

  package func resume() { for process in processes { Glibc.kill(process, SIGCONT) } }

  // MARK: Use

  /// Runs SQL by the real `psql` as the superuser, and returns its output.
  @discardableResult
  package func psql(_ sql: String, database: String = "postgres") async throws -> String {
    try await run([
      "/usr/bin/psql", "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h", folder.path, "-p", "\(port)", "-U",
      "postgres", "-d", database, "-c", sql,
    ])
  }

  /// Creates a database, and returns its name.
  package func newDatabase(owner: String = "postgres") async throws -> String {
    let name = "t" + UUID().uuidString.replacing("-", with: "").lowercased()
    try await psql("CREATE DATABASE \(name) OWNER \(owner)")
    return name
  }

  /// The location of a store.
  package func location(
    _ database: String, store: String = "test", user: String = "postgres", port: Int? = nil
  ) -> String {
    "postgresql://\(user)@127.0.0.1:\(port ?? self.port)/\(database)?store=\(store)"
  }

  @discardableResult
  private func run(_ command: [String]) async throws -> String { try await Self.run(command, home: folder) }

  /// Runs a program, and returns its output.
  static func run(_ command: [String], home: URL) async throws -> String {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: command[0])
    process.arguments = Array(command.dropFirst())
    process.environment = ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": home.path]
    let output = try TemporaryDirectory()
    let ended = try await RunningProgram(process, in: output.url, deadline: 60).ended()
    guard ended.status == 0 else { throw TestFailure("\(command[0]) \(ended.status): \(ended.errors)") }
    return ended.text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  static func freePort() throws -> Int {
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(socket) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) == 0 && getsockname(socket, $0, &size) == 0
      }
    }
    guard isBound else { throw TestFailure("no free port") }
    return Int(UInt16(bigEndian: address.sin_port))
  }
}
