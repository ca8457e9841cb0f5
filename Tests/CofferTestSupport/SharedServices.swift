import CofferCore
package import CofferPostgreSQL
import CofferTesting
import Foundation

/// One server for the tests of this process, which ends with it. A helper uses that of its test.
package enum SharedServer {
  package static let variable = "COFFER_TEST_SERVER"
  private static let server = Task { try await PostgreSQLServer(settings: []) }
  private static let name = Task { try await server.value.newDatabase() }

  package static func running() async throws -> PostgreSQLServer { try await server.value }
  package static func database() async throws -> String { try await name.value }

  /// The address of the database, without its scheme.
  static func address() async throws -> String {
    if let given = ProcessInfo.processInfo.environment[variable] { return given }
    return "//postgres@127.0.0.1:\(try await running().port)/\(try await database())"
  }
}

extension PostgreSQLEngine.Configuration {
  /// For what does not test the timeouts: on a busy machine, a server may not answer for many seconds.
  package static var patient: PostgreSQLEngine.Configuration {
    var configuration = PostgreSQLEngine.Configuration()
    (configuration.connectTimeout, configuration.answerTimeout) = (.seconds(60), .seconds(60))
    return configuration
  }
}

/// One keyring for the tests of this process, which ends with it. A helper uses that of its test.
enum TestKeyring {
  static let variable = "COFFER_TEST_BUS"

  static var obstacle: String? {
    #if SecretService
      PrivateKeyring.isInstalled ? nil : PrivateKeyring.unavailabilityReason
    #else
      "built without SecretService"
    #endif
  }

  private static let keyring: Locked<PrivateKeyring?> = {
    // Its programs end with this process anyway, its folder does not.
    atexit { TestKeyring.keyring.withLock { $0 = nil } }
    return Locked(try? PrivateKeyring())
  }()

  static func address() throws -> String {
    if let given = ProcessInfo.processInfo.environment[variable] { return given }
    guard let address = keyring.withLock({ $0?.address }) else { throw TestFailure("The keyring does not start.") }
    return address
  }
}
