public import Foundation

/// The location of the message bus of the system.
public enum SystemBus {
  /// The address at which the bus listens unless the environment specifies another one (D-Bus specification,
  /// "System message bus").
  public static let defaultAddress = "unix:path=/var/run/dbus/system_bus_socket"

  /// Returns the address in `DBUS_SYSTEM_BUS_ADDRESS`, or else ``defaultAddress``. Never starts a bus.
  /// - Parameter environment: returns the value of an environment variable; the process's own by default.
  /// - Throws: `SessionBus.Absence.startsSomething` if the variable only has parts that would start a program.
  public static func address(
    environment: (String) -> String? = { ProcessInfo.processInfo.environment[$0] }
  ) throws(SessionBus.Absence) -> String {
    guard let address = environment("DBUS_SYSTEM_BUS_ADDRESS"), !address.isEmpty else { return defaultAddress }
    return try SessionBus.usable(address)
  }
}
