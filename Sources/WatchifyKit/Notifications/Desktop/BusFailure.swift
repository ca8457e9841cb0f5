import CofferCGio

/// One call over the bus, or the way to the bus, that failed.
struct BusFailure: Error {
  enum Kind {
    /// No answer within the deadline.
    case timedOut
    /// The connection to the bus has ended.
    case closed
    /// The called process has gone before it answered.
    case gone
    /// Nobody listens at the address of the bus, or it is no address.
    case unreachable
    /// Nobody has that name, and nothing can be started for it.
    case noOwner
    case other
  }

  let kind: Kind
  /// What GLib, the bus or the called process says.
  let text: String

  init(_ kind: Kind, _ text: String) {
    self.kind = kind
    self.text = text
  }

  /// Takes over a failure of GLib.
  init(taking error: UnsafeMutablePointer<GError>?) {
    guard let error else {
      self.init(.other, "it failed without a reason")
      return
    }
    defer { g_error_free(error) }
    var remote: String?
    if let name = g_dbus_error_get_remote_error(error) {
      remote = String(cString: name)
      g_free(name)
      g_dbus_error_strip_remote_error(error)
    }
    let text = error.pointee.message.map { String(cString: $0) } ?? ""
    self.init(remote.map(Self.kind(ofRemote:)) ?? Self.kind(of: error), text)
  }

  /// What the bus or the called process answered.
  private static func kind(ofRemote name: String) -> Kind {
    switch name {
    case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner": .noOwner
    case "org.freedesktop.DBus.Error.NoReply": .gone
    case "org.freedesktop.DBus.Error.Disconnected": .closed
    case "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut": .timedOut
    default: .other
    }
  }

  /// What GLib itself reports.
  private static func kind(of error: UnsafeMutablePointer<GError>) -> Kind {
    guard error.pointee.domain == g_io_error_quark() else { return .other }
    let code = GIOErrorEnum(UInt32(bitPattern: error.pointee.code))
    switch code {
    case G_IO_ERROR_TIMED_OUT, G_IO_ERROR_CANCELLED: return .timedOut
    case G_IO_ERROR_CLOSED, G_IO_ERROR_BROKEN_PIPE: return .closed
    case G_IO_ERROR_CONNECTION_REFUSED, G_IO_ERROR_NOT_FOUND, G_IO_ERROR_INVALID_ARGUMENT,
      G_IO_ERROR_PERMISSION_DENIED:
      return .unreachable
    default: return .other
    }
  }
}
