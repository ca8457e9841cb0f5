import CofferFileSystem
import CofferRouter
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Temporary user directories, and routers whose stores are in them.
final class RouterFixture: Sendable {
  private let directory: TemporaryDirectory
  let system: SystemDirectories

  init() throws {
    let directory = try TemporaryDirectory()
    self.directory = directory
    system = SystemDirectories(bundleIdentifier: "com.example.shop", processName: "shop") { name in
      switch name {
      case "HOME": directory.path("home")
      case "XDG_CONFIG_HOME": directory.path("config")
      case "XDG_DATA_HOME": directory.path("data")
      case "XDG_DOCUMENTS_DIR": directory.path("documents")
      default: nil
      }
    }
  }

  func path(_ name: String) -> String { directory.path(name) }

  /// Runs `body` with a router whose stores are in these directories, and closes it.
  func use<R>(
    _ configuration: StorageConfiguration = configured { _ in }, _ body: (StorageRouter) async throws -> R
  ) async throws -> R {
    return try await SystemDirectories.$current.withValue(system) {
      let router = StorageRouter(configuration: configuration)
      do {
        let result = try await body(router)
        try await router.close()
        return result
      } catch {
        try? await router.close()
        throw error
      }
    }
  }
}

/// Returns the settings of a test's router.
func configured(_ change: (inout StorageConfiguration) -> Void) -> StorageConfiguration {
  var configuration = StorageConfiguration()
  configuration.unregisteredKeys = .throwError
  change(&configuration)
  return configuration
}

func expectError(
  _ code: StorageError.Code, _ contains: String = "", sourceLocation: SourceLocation = #_sourceLocation,
  _ body: () async throws -> Void
) async {
  let error = await expectStorageError(code, contains: contains, sourceLocation: sourceLocation, body)
  #expect(error?.advice.isEmpty != true, sourceLocation: sourceLocation)
}
