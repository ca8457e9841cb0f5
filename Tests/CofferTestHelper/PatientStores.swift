import Coffer
import CofferCore
import CofferFiles
import CofferSQLite
import CofferSecrets
import CofferTestSupport
import Foundation

// Where several processes write, one of them may hold the lock of a store for seconds on a busy machine.

extension SlotEngine.Configuration {
  /// Waits a minute for the lock.
  static var patient: SlotEngine.Configuration {
    var configuration = SlotEngine.Configuration()
    configuration.busyTimeout = 60_000
    return configuration
  }
}

extension SQLiteEngine.Configuration {
  /// Waits a minute for the lock.
  static var patient: SQLiteEngine.Configuration {
    var configuration = SQLiteEngine.Configuration()
    configuration.busyTimeout = 60_000
    return configuration
  }
}

/// Opens a store of any kind in a test's directory.
func openStore(_ path: String, _ kind: String) async throws -> any StorageEngine {
  guard let store = TestedStore(rawValue: kind) else { throw Usage() }
  var options = StoreOptions()
  (options.database, options.slots, options.keychain.store) = (.patient, .patient, .patient)
  return try await store.open(in: URL(fileURLWithPath: path), options)
}
