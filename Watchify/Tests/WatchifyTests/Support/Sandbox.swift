import CofferSQLite
import CofferTesting
import Foundation
import ReplayShop
import Testing

/// A temporary directory, a shop on this device, and the built program, without a desktop.
final class Sandbox: Sendable {
  let url: URL
  let shop: ReplayServer

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("watchify-cli-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    shop = ReplayServer(feed: ReplayTimeline.demoShop.feed, timeline: .demo)
    try shop.start()
  }

  deinit {
    shop.stop()
    try? FileManager.default.removeItem(at: url)
  }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
  func read(_ name: String) throws -> Data { try Data(contentsOf: url.appendingPathComponent(name)) }

  /// The default location of the database.
  var database: String { path("data/watchify/watchify.db") }
  var address: String { shop.url?.absoluteString ?? "" }

  /// The directory of the built program.
  static var binaries: URL {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? .main
    return bundle.bundlePath.hasSuffix(".xctest") ? bundle.bundleURL.deletingLastPathComponent() : bundle.bundleURL
  }

  private var environment: [(name: String, value: String)] {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return [
      ("PATH", Self.binaries.path + ":" + path), ("HOME", url.path), ("XDG_DATA_HOME", self.path("data")),
      ("XDG_RUNTIME_DIR", self.path("run")), ("TZ", "UTC"), ("TERM", "xterm"), ("LC_ALL", "C.UTF-8"),
    ]
  }

  /// Runs `watchify` to its end.
  @discardableResult
  func watchify(_ arguments: String...) async throws -> EndedProgram {
    try await start(Self.binaries.appendingPathComponent("watchify"), arguments).ended()
  }

  /// Runs a shell command line with `watchify` in its PATH.
  func bash(_ line: String) async throws -> EndedProgram {
    try await start(URL(fileURLWithPath: "/bin/bash"), ["-c", line]).ended()
  }

  /// Starts a shell command line with `watchify` in its PATH. A signal reaches the shell, unless the line begins with
  /// `exec`.
  func startBash(_ line: String) throws -> RunningProgram {
    try start(URL(fileURLWithPath: "/bin/bash"), ["-c", line])
  }

  /// Runs a command line on a pseudo-terminal.
  func terminal(_ line: String) throws -> RunningProgram {
    try start(URL(fileURLWithPath: "/usr/bin/script"), ["-qefc", line, "/dev/null"])
  }

  func startWatchify(_ arguments: String...) throws -> RunningProgram {
    try start(Self.binaries.appendingPathComponent("watchify"), arguments)
  }

  /// Starts `watchify` with additional environment variables.
  func startWatchify(_ arguments: [String], with variables: [(name: String, value: String)]) throws -> RunningProgram {
    try start(Self.binaries.appendingPathComponent("watchify"), arguments, variables)
  }

  private func start(
    _ program: URL, _ arguments: [String], _ variables: [(name: String, value: String)] = []
  ) throws -> RunningProgram {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.currentDirectoryURL = url
    process.environment = Dictionary((environment + variables).map { ($0.name, $0.value) }) { $1 }
    return try RunningProgram(process, in: url, deadline: 300)
  }

  // MARK: The shop

  /// Follows the shop.
  func follow() async throws {
    let ended = try await watchify("add", address)
    try #require(ended.status == 0, "\(ended.errors)")
  }

  /// Follows the shop and applies the first two steps of its timeline: a price drop and a restock.
  func followWithNews() async throws {
    try await follow()
    try shop.advance()
    try shop.advance()
    try await forgetAttempts()
    let ended = try await watchify("sync")
    try #require(ended.status == 0, "\(ended.errors)")
  }

  /// Ends the minimum interval after an attempt.
  func forgetAttempts() async throws { try await sql("UPDATE stores SET last_attempt_at = 0") }

  /// Executes SQL in a transaction of this process, which a running `watchify` observes.
  func sql(_ statement: String) async throws {
    let tables = SQLiteDatabase(engine: try await SQLiteEngine.open(at: database))
    try await tables.write { try $0.execute(statement) }
    try await tables.close()
  }
}
