import CofferTestSupport
import Foundation
import Testing

/// A temporary folder with a store, in which a test runs the built program.
final class Sandbox: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-cli-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func path(_ name: String) -> String { url.appendingPathComponent(name).path }
  func exists(_ name: String) -> Bool { FileManager.default.fileExists(atPath: path(name)) }
  func write(_ data: Data, to name: String) throws { try data.write(to: url.appendingPathComponent(name)) }
  func read(_ name: String) throws -> Data { try Data(contentsOf: url.appendingPathComponent(name)) }

  /// The path of the default store of the commands.
  var storePath: String { path("store.db") }

  /// The folder with the built program.
  static var binaries: URL {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") } ?? .main
    return bundle.bundlePath.hasSuffix(".xctest") ? bundle.bundleURL.deletingLastPathComponent() : bundle.bundleURL
  }

  private var environment: [(name: String, value: String)] {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return [
      ("PATH", Self.binaries.path + ":" + path), ("HOME", url.path), ("COFFER_STORE", storePath), ("TZ", "UTC"),
      ("TERM", "xterm"), ("LC_ALL", "C.UTF-8"),
    ]
  }

  /// Runs `coffer` with the arguments and nothing on standard input.
  @discardableResult
  func coffer(
    _ arguments: String..., input: Data? = nil, environment: [(name: String, value: String?)] = []
  ) async throws -> EndedProgram {
    let program = Self.binaries.appendingPathComponent("coffer")
    return try await start(program, arguments, input: input, environment: environment).ended()
  }

  /// Runs `coffer` with the arguments and nothing on standard input.
  @discardableResult
  func coffer(_ arguments: [String]) async throws -> EndedProgram {
    try await start(Self.binaries.appendingPathComponent("coffer"), arguments).ended()
  }

  /// Runs a shell command, with `coffer` in its PATH.
  @discardableResult
  func bash(_ line: String, environment: [(name: String, value: String?)] = []) async throws -> EndedProgram {
    try await start(URL(fileURLWithPath: "/bin/bash"), ["-c", line], environment: environment).ended()
  }

  /// Runs a shell command on a new terminal and returns the output of the terminal.
  func terminal(_ line: String, environment: [(name: String, value: String?)] = []) async throws -> EndedProgram {
    let program = URL(fileURLWithPath: "/usr/bin/script")
    return try await start(program, ["-qec", line, "/dev/null"], environment: environment).ended()
  }

  func startCoffer(_ arguments: String..., environment: [(name: String, value: String?)] = []) throws -> RunningProgram
  {
    try start(Self.binaries.appendingPathComponent("coffer"), arguments, environment: environment)
  }

  func startCoffer(_ arguments: [String]) throws -> RunningProgram {
    try start(Self.binaries.appendingPathComponent("coffer"), arguments)
  }

  private func start(
    _ program: URL, _ arguments: [String], input: Data? = nil,
    environment changes: [(name: String, value: String?)] = []
  ) throws -> RunningProgram {
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    process.currentDirectoryURL = url
    var variables = Dictionary(uniqueKeysWithValues: environment.map { ($0.name, $0.value) })
    for change in changes { variables[change.name] = change.value }
    process.environment = variables
    return try RunningProgram(process, in: url, input: input)
  }
}
