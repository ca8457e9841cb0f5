import CofferCGio
import Foundation

/// Where the session's bus is.
enum SessionBus {
  /// The address that the environment names, else the socket where systemd puts the bus. Nothing is ever started.
  /// - Throws: ``ChannelError``; not a temporary one where the process's own environment names no place at all.
  static func address(environment: (String) -> String?) throws(ChannelError) -> String {
    if let address = environment("DBUS_SESSION_BUS_ADDRESS"), !address.isEmpty { return try usable(address) }
    guard let folder = environment("XDG_RUNTIME_DIR"), !folder.isEmpty else {
      throw ChannelError(
        "There is no desktop session: neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set.",
        isTemporary: false)
    }
    let socket = folder + "/bus"
    var status = stat()
    guard stat(socket, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
      throw ChannelError(
        "There is no session bus: DBUS_SESSION_BUS_ADDRESS is not set and there is no socket '\(socket)'.",
        isTemporary: true)
    }
    guard let escaped = g_dbus_address_escape_value(socket) else {
      throw ChannelError("The path of the session bus, '\(socket)', cannot be used.", isTemporary: true)
    }
    defer { g_free(escaped) }
    return "unix:path=" + String(cString: escaped)
  }

  /// An address without the parts that would start a program.
  static func usable(_ address: String) throws(ChannelError) -> String {
    let parts = address.split(separator: ";").filter { !$0.hasPrefix("autolaunch:") && !$0.hasPrefix("unixexec:") }
    guard !parts.isEmpty else {
      throw ChannelError("The bus address '\(address)' names no bus that runs already.", isTemporary: false)
    }
    return parts.joined(separator: ";")
  }
}
