import CofferCore
import CofferFileSystem
import CofferPreferences
import CofferSQLite
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

  /// Another program, which knows nothing of us.
  func run(_ command: String, _ arguments: String...) throws -> HelperProcess {
    try HelperProcess([command, suite] + arguments, environment: [("XDG_CONFIG_HOME", path)])
  }
}
