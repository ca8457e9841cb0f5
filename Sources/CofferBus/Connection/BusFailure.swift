package import CofferCGio

/// A call over a bus, or the way to the bus, that failed.
public struct BusFailure: Error, Sendable, CustomStringConvertible {
  /// What happened, as far as it matters for what to do next.
  public enum Kind: Hashable, Sendable {
    /// GLib, through which the bus is spoken to, is not installed: nothing was sent.
    case noLibrary
    /// Nobody listens at the address of the bus, or it is no address.
    case unreachable
    /// No answer within the timeout.
    case timedOut
    /// The connection to the bus has ended.
    case closed
    /// The called process has gone before it answered.
    case gone
    /// Nobody has that name: the call was not carried out.
    case noOwner
    /// The called process has no such object or method.
    case noObject
    /// The bus, or the way to it, is not open to this process.
    case denied
    /// A name, path or argument is none that D-Bus can carry: nothing was sent.
    case invalid
    /// Anything else; ``BusFailure/name`` and ``BusFailure/text`` say what.
    case other
  }

  /// What happened.
  public let kind: Kind
  /// The name of the error with which the bus or the called process answered, such as
  /// `org.freedesktop.DBus.Error.AccessDenied`; `nil` where nothing was answered.
  public let name: String?
  /// What GLib, the bus or the called process says about it.
  public let text: String
  /// Whether the call may have been carried out although it failed: it changes something
  /// (``BusMethod/changesSomething``), and the answer was lost.
  public internal(set) var mayHaveHappened = false

  /// GLib's name for the kind of failure, such as `g-io-error-quark`, and its number there.
  package let domain: String
  package let code: Int

  /// A failure that was found on this side of the bus.
  public init(_ kind: Kind, _ text: String) {
    self.init(kind, name: nil, text: text, domain: "D-Bus", code: 0)
  }

  private init(_ kind: Kind, name: String?, text: String, domain: String, code: Int) {
    (self.kind, self.name, self.text, self.domain, self.code) = (kind, name, text, domain, code)
  }

  /// Takes over a failure of GLib.
  package init(taking error: OpaquePointer?, _ gio: UnsafePointer<coffer_gio>) {
    guard let error else {
      self.init(.other, name: nil, text: "failed without a reason", domain: "GLib", code: 0)
      return
    }
    defer { gio.pointee.g_error_free(error) }
    let name = gio.pointee.g_dbus_error_get_remote_error(error).map { name in
      defer { gio.pointee.g_free(name) }
      return String(cString: name)
    }
    _ = gio.pointee.g_dbus_error_strip_remote_error(error)
    let content = UnsafeRawPointer(error).load(as: coffer_error.self)
    let isOfIO = content.domain == gio.pointee.g_io_error_quark()
    self.init(
      name.map(Self.kind) ?? (isOfIO ? Self.kind(ofIO: content.code) : .other), name: name,
      text: content.message.map { String(cString: $0) } ?? "",
      domain: gio.pointee.g_quark_to_string(content.domain).map { String(cString: $0) } ?? "GLib",
      code: Int(content.code))
  }

  /// What GLib itself reports.
  private static func kind(ofIO code: CInt) -> Kind {
    switch Int(code) {
    case Int(COFFER_IO_ERROR_TIMED_OUT), Int(COFFER_IO_ERROR_CANCELLED): .timedOut
    case Int(COFFER_IO_ERROR_CLOSED), Int(COFFER_IO_ERROR_BROKEN_PIPE): .closed
    case Int(COFFER_IO_ERROR_CONNECTION_REFUSED), Int(COFFER_IO_ERROR_NOT_FOUND),
      Int(COFFER_IO_ERROR_INVALID_ARGUMENT):
      .unreachable
    case Int(COFFER_IO_ERROR_PERMISSION_DENIED): .denied
    default: .other
    }
  }

  /// What the bus or the called process answered.
  private static func kind(of name: String) -> Kind {
    switch name {
    case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner": .noOwner
    case "org.freedesktop.DBus.Error.NoReply": .gone
    case "org.freedesktop.DBus.Error.Disconnected": .closed
    case "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut": .timedOut
    case "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod": .noObject
    case "org.freedesktop.DBus.Error.AccessDenied": .denied
    default: .other
    }
  }

  /// The same failure of a call that changes something, or not.
  func ofCall(changingSomething: Bool) -> BusFailure {
    var failure = self
    failure.mayHaveHappened = changingSomething && (kind == .timedOut || kind == .closed || kind == .gone)
    return failure
  }

  /// The error's name, if it has one, and its text.
  public var description: String { [name, text].compactMap { $0 }.joined(separator: ": ") }
}
