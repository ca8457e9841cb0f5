import CofferCore
import CofferFileSystem
import CofferFiles
import CofferTestSupport
import CofferTesting
import Foundation

/// A temporary directory of preferences for one test, removed when the fixture is released.
final class PreferenceFixture: Sendable {
  private let parent: TemporaryDirectory
  let suite: String

  init(suite: String = "com.example.shop") throws {
    parent = try TemporaryDirectory()
    self.suite = suite
  }

  var path: String { parent.path("config") }
  var file: String { path + "/\(suite).plist" }
  var control: String { path + "/.coffer-preferences/" + suite }

  /// Creates a closed suite with the values of the scenario.
  static func filled() async throws -> PreferenceFixture {
    let fixture = try PreferenceFixture()
    let engine = try await fixture.open()
    try await engine.commit(FileScenario.fill(), from: StoreOrigin())
    try await engine.close()
    return fixture
  }

  /// Copies the directory with its modification times.
  func copy() throws -> PreferenceFixture {
    let fixture = try PreferenceFixture(suite: suite)
    let process = try Process.start("/bin/cp", ["-a", path, fixture.path])
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw TestFailure("cp") }
    return fixture
  }

  /// A path beside the directory of preferences.
  func outside(_ name: String) -> String { parent.path(name) }

  /// The sorted names in a subdirectory of the control directory.
  func names(in folder: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: control + "/" + folder).sorted()
  }

  /// Runs `body` with this directory instead of the user's.
  func use<R>(_ body: () async throws -> R) async throws -> R {
    try await SystemDirectories.$current.withValue(Self.system(path), operation: body)
  }

  static func system(_ config: String?, fixture: String? = nil) -> SystemDirectories {
    SystemDirectories(bundleIdentifier: nil, processName: "shop") { name in
      switch name {
      case "XDG_CONFIG_HOME": config
      case "HOME": fixture
      default: nil
      }
    }
  }

  func open(_ configure: (inout SlotEngine.Configuration) -> Void = { _ in }) async throws -> SlotEngine {
    var configuration = SlotEngine.Configuration()
    configure(&configuration)
    return try await use { [configuration] in
      try await SlotEngine.preferences(suite: suite, configuration: configuration)
    }
  }

  func adapter() async throws -> UserDefaultsAdapter { UserDefaultsAdapter(engine: try await open()) }

  /// The property list that Foundation reads from the file.
  func propertyList() throws -> [String: Any] {
    let data = try Data(contentsOf: URL(fileURLWithPath: file))
    let list = try PropertyListSerialization.propertyList(from: data, options: [], format: nil)
    guard let list = list as? [String: Any] else { throw TestFailure("\(file) has no dictionary at its root") }
    return list
  }

  /// The values that Foundation reads from a file that contains only data and strings, as text.
  func texts(except name: String? = nil) throws -> [String: String] {
    try propertyList().filter { $0.key != name }.mapValues { value in
      if let data = value as? Data { return String(decoding: data, as: UTF8.self) }
      guard let text = value as? String else { throw TestFailure("neither bytes nor text: \(value)") }
      return text
    }
  }

  /// Starts a helper process, which uses Coffer or `UserDefaults` depending on the command.
  func run(_ command: String, _ arguments: String..., fault: Bool = false) throws -> HelperProcess {
    let library = fault ? FaultLibrary.path ?? "" : nil
    let faults = library.map { [("LD_PRELOAD", $0), ("COFFER_FAULT_ROOT", path)] } ?? []
    return try HelperProcess([command, suite] + arguments, environment: [("XDG_CONFIG_HOME", path)] + faults)
  }
}
