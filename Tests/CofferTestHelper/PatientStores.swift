import CofferFiles
import CofferSQLite

// Where several processes write, one of them may hold the lock of a store for seconds on a busy machine.

extension SlotConfiguration {
  /// Waits a minute for the lock.
  static var patient: SlotConfiguration {
    var configuration = SlotConfiguration()
    configuration.busyTimeout = 60_000
    return configuration
  }
}

extension SQLiteConfiguration {
  /// Waits a minute for the lock.
  static var patient: SQLiteConfiguration {
    var configuration = SQLiteConfiguration()
    configuration.busyTimeout = 60_000
    return configuration
  }
}
