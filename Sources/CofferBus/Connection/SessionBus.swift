public import Foundation

/// The location of the message bus of the user's session.
public enum SessionBus {
  /// The reason why there is no address of a bus.
  public enum Absence: Error, Hashable, Sendable {
    /// The environment specifies neither a bus nor the directory of its socket.
    case notNamed
    /// The environment specifies no bus, and systemd's socket does not exist.
    case noSocket(path: String)
    /// The address only contains parts that would start a program.
    case startsSomething(address: String)

    /// The reason as a lower-case clause, for use inside another sentence.
    public var reason: String {
      switch self {
      case .notNamed: "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set"
      case .noSocket(let path): "DBUS_SESSION_BUS_ADDRESS is not set and there is no socket '\(path)'"
      case .startsSomething(let address): "the bus address '\(address)' does not name a running bus"
      }
    }
  }

  /// Returns the address in `DBUS_SESSION_BUS_ADDRESS`, or else that of systemd's socket (`bus` in `XDG_RUNTIME_DIR`).
  /// Never starts a bus.
  /// - Parameter environment: returns the value of an environment variable; the process's own by default.
  public static func address(
    environment: (String) -> String? = { ProcessInfo.processInfo.environment[$0] }
  ) throws(Absence) -> String {
    if let address = environment("DBUS_SESSION_BUS_ADDRESS"), !address.isEmpty { return try usable(address) }
    guard let folder = environment("XDG_RUNTIME_DIR"), !folder.isEmpty else { throw .notNamed }
    let socket = folder + "/bus"
    var status = stat()
    guard stat(socket, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { throw .noSocket(path: socket) }
    return "unix:path=" + escaped(socket)
  }

  /// Returns an address without the parts that would start a program.
  /// - Throws: ``Absence/startsSomething(address:)`` when no part remains.
  public static func usable(_ address: String) throws(Absence) -> String {
    let parts = address.split(separator: ";").filter { !$0.hasPrefix("autolaunch:") && !$0.hasPrefix("unixexec:") }
    guard !parts.isEmpty else { throw .startsSomething(address: address) }
    return parts.joined(separator: ";")
  }

  /// Escapes a value for use in an address: all bytes but these become `%` and two hexadecimal digits (D-Bus
  /// specification, "Server Addresses").
  private static func escaped(_ value: String) -> String {
    value.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
        UInt8(ascii: "."), UInt8(ascii: "\\"):
        String(UnicodeScalar(byte))
      default: "%" + String(UInt16(byte) | 0x100, radix: 16).dropFirst()
      }
    }.joined()
  }
}
