#if SecretService && os(Linux)
  import CofferCSecret
  import CofferCore

  /// One call that failed.
  struct BusFailure: Error {
    enum Kind {
      /// No answer within the deadline.
      case timedOut
      /// The connection or the called process has gone before it answered.
      case disconnected
      /// Nobody listens at the address of the bus, or it is none.
      case nobody
      /// There is nobody of that name: the call was not carried out.
      case noOwner
      /// There is no such object.
      case noObject
      case locked
      /// The session is not known to the keyring (any more): the call was not carried out.
      case noSession
      case denied
      case other
    }

    let kind: Kind
    let underlying: StorageError.Underlying
    /// Whether the call would have changed something.
    var isChange = false

    /// Whether the call may have been carried out although it failed.
    var mayHaveHappened: Bool { isChange && (kind == .timedOut || kind == .disconnected) }

    /// Whether the same call on a new connection or session cannot do harm and may succeed.
    var isWorthAnotherTry: Bool {
      switch kind {
      case .noOwner, .noSession: true
      case .disconnected: !isChange
      default: false
      }
    }

    /// Takes over a failure of GLib.
    init(taking error: UnsafeMutablePointer<GError>?) {
      guard let error else {
        kind = .other
        underlying = .init(domain: "GLib", code: 0, text: "failed without a reason")
        return
      }
      defer { g_error_free(error) }
      let name = g_dbus_error_get_remote_error(error).map { name in
        defer { g_free(name) }
        return String(cString: name)
      }
      kind = name.map(Self.kind) ?? Self.kind(of: error)
      g_dbus_error_strip_remote_error(error)
      underlying = .init(
        domain: name ?? g_quark_to_string(error.pointee.domain).map { String(cString: $0) } ?? "GLib",
        code: Int(error.pointee.code), text: error.pointee.message.map { String(cString: $0) } ?? "")
    }

    init(_ kind: Kind, _ text: String) {
      self.kind = kind
      underlying = .init(domain: "D-Bus", code: 0, text: text)
    }

    /// What GLib itself reports.
    private static func kind(of error: UnsafeMutablePointer<GError>) -> Kind {
      let isOne: (GIOErrorEnum) -> Bool = { coffer_is_io_error(error, CInt($0.rawValue)) != 0 }
      if isOne(G_IO_ERROR_TIMED_OUT) || isOne(G_IO_ERROR_CANCELLED) { return .timedOut }
      if isOne(G_IO_ERROR_CLOSED) || isOne(G_IO_ERROR_BROKEN_PIPE) { return .disconnected }
      let absences = [G_IO_ERROR_CONNECTION_REFUSED, G_IO_ERROR_NOT_FOUND, G_IO_ERROR_INVALID_ARGUMENT]
      if absences.contains(where: isOne) { return .nobody }
      return isOne(G_IO_ERROR_PERMISSION_DENIED) ? .denied : .other
    }

    /// What the bus or the keyring reports.
    private static func kind(of name: String) -> Kind {
      switch name {
      case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner": .noOwner
      case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Disconnected": .disconnected
      case "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut": .timedOut
      case "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod",
        "org.freedesktop.Secret.Error.NoSuchObject":
        .noObject
      case "org.freedesktop.Secret.Error.IsLocked": .locked
      case "org.freedesktop.Secret.Error.NoSession": .noSession
      case "org.freedesktop.DBus.Error.AccessDenied": .denied
      default: .other
      }
    }
  }

  /// The keyring cannot be used now.
  struct NotOpen: Error {
    let state: SecretServiceState
    var underlying: StorageError.Underlying?
  }
#endif
