package import CofferCGio

/// An error of a call over a bus, or of connecting to the bus.
public struct BusFailure: Error, Sendable, CustomStringConvertible {
  /// The category of a failure.
  public enum Kind: Hashable, Sendable {
    /// GLib, or another library for access to the bus, is not installed. Nothing was sent.
    case noLibrary
    /// No process listens at the address of the bus, or the address is not valid.
    case unreachable
    /// No reply arrived within the timeout.
    case timedOut
    /// The connection to the bus is closed.
    case closed
    /// The called process ended before it replied.
    case gone
    /// The name has no owner. The call was not carried out.
    case noOwner
    /// The called process has no such object or method.
    case noObject
    /// This process has no permission for the bus or the call, or the requested name already has an owner.
    case denied
    /// A name, path or argument is not valid in D-Bus. Nothing was sent.
    case invalid
    /// Any other failure, which ``BusFailure/name`` and ``BusFailure/text`` describe.
    case other
  }

  /// The category of the failure.
  public let kind: Kind
  /// The name of the error with which the bus or the called process replied, such as
  /// `org.freedesktop.DBus.Error.AccessDenied`, or `nil` if there was no reply.
  public let name: String?
  /// The description of the failure by GLib, the bus or the called process.
  public let text: String
  /// Whether the call may have been carried out although it failed: the method changes state
  /// (``BusMethod/changesSomething``), and the reply was lost.
  public internal(set) var mayHaveHappened = false

  /// GLib's error domain, such as `g-io-error-quark`, for ``code``.
  package let domain: String
  package let code: Int

  /// Creates a failure that was detected in this process.
  public init(_ kind: Kind, _ text: String) {
    self.init(kind, name: nil, text: text, domain: "D-Bus", code: 0)
  }

  private init(_ kind: Kind, name: String?, text: String, domain: String, code: Int) {
    (self.kind, self.name, self.text, self.domain, self.code) = (kind, name, text, domain, code)
  }

  /// Creates a failure from an error of GLib, and frees the error.
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

  /// Returns the category of one of GLib's own I/O errors.
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

  /// Returns the category of an error with which the bus or the called process replied.
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

  /// Returns the failure with ``mayHaveHappened`` set for a call that changes state or not.
  package func ofCall(changingSomething: Bool) -> BusFailure {
    var failure = self
    failure.mayHaveHappened = changingSomething && (kind == .timedOut || kind == .closed || kind == .gone)
    return failure
  }

  /// The error's name, if it has one, and its text.
  public var description: String { [name, text].compactMap { $0 }.joined(separator: ": ") }
}
