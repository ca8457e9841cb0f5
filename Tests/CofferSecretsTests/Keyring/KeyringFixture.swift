import CofferCore
import CofferFileSystem
import CofferFiles
import CofferSecrets
import CofferTestSupport
import Foundation

/// A keyring for a single test: a real gnome-keyring on a private bus.
final class KeyringFixture: @unchecked Sendable {
  // Sendable because a test uses the keyring from one task at a time.
  let keyring: PrivateKeyring

  init(password: String? = "correct horse") throws { keyring = try PrivateKeyring(password: password) }

  func configuration(_ configure: (inout KeychainConfiguration) -> Void = { _ in }) -> KeychainConfiguration {
    var configuration = KeychainConfiguration()
    configuration.address = keyring.address
    // A keyring answers late on a busy disk. Tests of outages set what they need.
    configuration.timeout = .seconds(30)
    configure(&configuration)
    return configuration
  }

  /// Runs `body` with this keyring's directories instead of the user's.
  func use<R>(_ body: () async throws -> R) async rethrows -> R {
    let data = keyring.dataDirectory.path
    let system = SystemDirectories(bundleIdentifier: nil, processName: "shop") { $0 == "XDG_DATA_HOME" ? data : nil }
    return try await SystemDirectories.$current.withValue(system, operation: body)
  }

  func open(
    _ service: String = "com.example.shop", group: String? = nil,
    _ configure: (inout KeychainConfiguration) -> Void = { _ in }
  ) async throws -> SlotEngine {
    let configuration = configuration(configure)
    return try await use {
      try await SlotEngine.keychain(service: service, accessGroup: group, configuration: configuration)
    }
  }
}
