#if SecretService && os(Linux)
  import CofferCGio
  import CofferLocks
  import CofferTestSupport
  import Foundation

  /// A keyring inside this process that knows no encryption, with a connection of its own to a private bus. It has one
  /// open collection and takes items without keeping them.
  // The pointer never changes, GDBus connections may be used from any thread, and the rest is under a lock.
  final class PlainKeyring: @unchecked Sendable {
    private let connection: OpaquePointer
    private let seen = Locked<(algorithms: [String], items: [Data])>(([], []))

    init(_ address: String) throws {
      let flags = GDBusConnectionFlags(
        G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
          | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
      guard let made = g_dbus_connection_new_for_address_sync(address, flags, nil, nil, nil) else {
        throw TestFailure("the stub cannot connect")
      }
      g_dbus_connection_set_exit_on_close(made, 0)
      connection = made
      // Filters run on GDBus's own thread, so no main loop is needed.
      g_dbus_connection_add_filter(made, plainKeyringFilter, Unmanaged.passUnretained(self).toOpaque(), nil)
      let name: [OpaquePointer?] = [g_variant_new_string("org.freedesktop.secrets"), g_variant_new_uint32(4)]
      let bus = "org.freedesktop.DBus"
      let reply = g_dbus_connection_call_sync(
        made, bus, "/org/freedesktop/DBus", bus, "RequestName", g_variant_new_tuple(name, 2), nil,
        G_DBUS_CALL_FLAGS_NONE, 10_000, nil, nil)
      guard let reply else { throw TestFailure("the stub gets no name") }
      g_variant_unref(reply)
    }

    /// Leaves the bus. To be called before the end of a test: the filter does not hold this object.
    func stop() { g_dbus_connection_close_sync(connection, nil, nil) }

    /// Which ways to encrypt it was asked for.
    var algorithms: [String] { seen.withLock { $0.algorithms } }
    /// The secrets that it was given, as they crossed the bus.
    var items: [Data] { seen.withLock { $0.items } }

    /// Answers a call; on GDBus's thread.
    fileprivate func answer(_ message: OpaquePointer) {
      let member = g_dbus_message_get_member(message).map { String(cString: $0) } ?? ""
      let reply: OpaquePointer?
      if let body = result(of: member, g_dbus_message_get_body(message)) {
        reply = g_dbus_message_new_method_reply(message)
        g_dbus_message_set_body(reply, body)
      } else {
        let name = "org.freedesktop.DBus.Error.NotSupported"
        reply = g_dbus_message_new_method_error_literal(message, name, "not supported")
      }
      g_dbus_connection_send_message(connection, reply, G_DBUS_SEND_MESSAGE_FLAGS_NONE, nil, nil)
      g_object_unref(UnsafeMutableRawPointer(reply))
    }

    private func result(of member: String, _ arguments: OpaquePointer?) -> OpaquePointer? {
      switch member {
      case "OpenSession":
        guard let arguments else { return nil }
        let algorithm = String(cString: g_variant_get_string(g_variant_get_child_value(arguments, 0), nil))
        seen.withLock { $0.algorithms.append(algorithm) }
        guard algorithm == "plain" else { return nil }
        return parsed("(<''>, objectpath '/org/freedesktop/secrets/session/s1')")
      case "ReadAlias": return parsed("(objectpath '/org/freedesktop/secrets/collection/login',)")
      case "Get": return parsed("(<false>,)")
      case "SearchItems": return parsed("(@ao [],)")
      case "CreateItem":
        if let arguments {
          let secret: OpaquePointer = g_variant_get_child_value(g_variant_get_child_value(arguments, 1), 2)
          seen.withLock {
            $0.items.append(Data(bytes: g_variant_get_data(secret), count: Int(g_variant_get_size(secret))))
          }
        }
        return parsed("(objectpath '/org/freedesktop/secrets/collection/login/1', objectpath '/')")
      default: return nil
      }
    }

    private func parsed(_ text: String) -> OpaquePointer? { g_variant_parse(nil, text, nil, nil, nil) }
  }

  /// Takes the calls to the stub out of the stream of messages.
  private nonisolated func plainKeyringFilter(
    connection: OpaquePointer?, message: OpaquePointer?, isIncoming: gboolean, stub: UnsafeMutableRawPointer?
  ) -> OpaquePointer? {
    guard let message, let stub, isIncoming != 0,
      g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_METHOD_CALL,
      let path = g_dbus_message_get_path(message), String(cString: path).hasPrefix("/org/freedesktop/secrets")
    else { return message }
    Unmanaged<PlainKeyring>.fromOpaque(stub).takeUnretainedValue().answer(message)
    g_object_unref(UnsafeMutableRawPointer(message))
    return nil
  }
#endif
