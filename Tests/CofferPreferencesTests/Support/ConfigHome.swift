import CofferCore
import CofferFileSystem
import CofferPreferences
import CofferSlots
import CofferTestSupport
import Foundation

/// A directory of preferences of a test's own, which goes away with its owner.
final class ConfigHome: Sendable {
  private let parent: TemporaryDirectory
  let suite: String

  init(suite: String = "com.example.shop") throws {
    parent = try TemporaryDirectory()
    self.suite = suite
  }

  var path: String { parent.path("config") }
  var file: String { path + "/\(suite).plist" }
  var control: String { path + "/.coffer-preferences/" + suite }

  /// A suite with the values of the scenario, closed again.
  static func filled() async throws -> ConfigHome {
    let home = try ConfigHome()
    let engine = try await home.open()
    try await engine.commit(FileScenario.fill(), from: StoreOrigin())
    try await engine.close()
    return home
  }

  /// The same state again, with its dates.
  func copy() throws -> ConfigHome {
    let home = try ConfigHome(suite: suite)
    let process = try Process.run(URL(fileURLWithPath: "/bin/cp"), arguments: ["-a", path, home.path])
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw TestFailure("cp") }
    return home
  }

  /// Beside the directory of preferences.
  func outside(_ name: String) -> String { parent.path(name) }

  /// What is in a directory of ours.
  func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: control + "/" + folder).sorted()
  }

  /// Runs `body` with this directory in place of the user's.
  func use<R>(_ body: () async throws -> R) async throws -> R {
    try await SystemDirectories.$current.withValue(Self.system(path), operation: body)
  }

  static func system(_ config: String?, home: String? = nil) -> SystemDirectories {
    SystemDirectories(bundleIdentifier: nil, processName: "shop") { name in
      switch name {
      case "XDG_CONFIG_HOME": config
      case "HOME": home
      default: nil
      }
    }
  }

  func open(_ configure: (inout SlotConfiguration) -> Void = { _ in }) async throws -> SlotEngine {
    var configuration = SlotConfiguration()
    configure(&configuration)
    return try await use { [configuration] in
      try await SlotEngine.preferences(suite: suite, configuration: configuration)
    }
  }

  func adapter() async throws -> UserDefaultsAdapter { UserDefaultsAdapter(engine: try await open()) }

  /// What Foundation reads from the file.
  func propertyList() throws -> [String: Any] {
    let data = try Data(contentsOf: URL(fileURLWithPath: file))
    let list = try PropertyListSerialization.propertyList(from: data, options: [], format: nil)
    guard let list = list as? [String: Any] else { throw TestFailure("\(file) has no dictionary at its root") }
    return list
  }

  /// What Foundation reads from the file when there are only bytes and texts in it, as text.
  func texts(except name: String? = nil) throws -> [String: String] {
    try propertyList().filter { $0.key != name }.mapValues { value in
      if let data = value as? Data { return String(decoding: data, as: UTF8.self) }
      guard let text = value as? String else { throw TestFailure("neither bytes nor text: \(value)") }
      return text
    }
  }

  /// Another process: a program that knows nothing of us, or one that uses us.
  func run(_ command: String, _ arguments: String..., fault: Bool = false) throws -> HelperProcess {
    let library = fault ? FaultLibrary.path ?? "" : nil
    let faults = library.map { [("LD_PRELOAD", $0), ("COFFER_FAULT_ROOT", path)] } ?? []
    return try HelperProcess([command, suite] + arguments, environment: [("XDG_CONFIG_HOME", path)] + faults)
  }
}
