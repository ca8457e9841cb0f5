import CofferFiles
import CofferSQLite

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
