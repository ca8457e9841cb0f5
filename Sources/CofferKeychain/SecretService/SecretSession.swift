import CofferLocks

#if SecretService && os(Linux)
  import CofferCSecret
  import CofferCore
  import Foundation

  /// An agreement with one running keyring on a key, so that secrets cross the bus encrypted.
  // Every use of the pointer is under the lock.
  final class SecretSession: @unchecked Sendable {
    private let service: UnsafeMutablePointer<SecretService>
    private let lock = NSLock()
    // Where the proxy leaves what is to be released at its end.
    private let context = MainContext()
    private static let type = coffer_secret_service_register()
    let connection: BusConnection
    /// The unique name of the keyring's process: another process knows nothing of this session.
    let owner: String
    /// The session's path on the bus.
    let path: KeyringItemPath

    init(connection: BusConnection, owner: String, timeout: Duration) throws {
      let deadline = CallDeadline(timeout)
      let context = context
      defer {
        deadline.cancel()
        context.drain()
      }
      var error: UnsafeMutablePointer<GError>?
      let made = context.asDefault { () -> UnsafeMutablePointer<SecretService>? in
        guard
          let service = coffer_secret_service_new(
            Self.type, connection.pointer, owner, timeout.milliseconds, deadline.cancellable, &error)
        else { return nil }
        guard secret_service_ensure_session_sync(service, deadline.cancellable, &error) != 0 else {
          g_object_unref(UnsafeMutableRawPointer(service))
          return nil
        }
        return service
      }
      guard let made else { throw BusFailure(taking: error) }
      guard let path = secret_service_get_session_dbus_path(made).flatMap({ KeyringItemPath(String(cString: $0)) })
      else {
        g_object_unref(UnsafeMutableRawPointer(made))
        throw BusFailure(.other, "the keyring opened a session without a path")
      }
      service = made
      self.connection = connection
      self.owner = owner
      self.path = path
    }

    deinit {
      g_object_unref(UnsafeMutableRawPointer(service))
      context.drain()
    }

    /// How secrets are encrypted on the bus; `plain` where the keyring cannot.
    var algorithm: String {
      lock.withLock { secret_service_get_session_algorithms(service).map { String(cString: $0) } ?? "" }
    }

    /// Whether secrets cross the bus as they are.
    var isPlain: Bool { algorithm == "plain" }

    /// A secret as `(oayays)`.
    func encode(_ data: Data) throws -> Variant {
      let encoded = lock.withLock { () -> Variant? in
        let value = data.withUnsafeBytes { coffer_secret_value_new($0.baseAddress, $0.count) }
        guard let value else { return nil }
        defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
        return secret_service_encode_dbus_secret(service, value).map { Variant(taking: $0) }
      }
      guard let encoded else { throw BusFailure(.other, "the secret could not be encrypted for the bus") }
      return encoded
    }

    /// The secret in an `(oayays)`.
    func decode(_ encoded: Variant) throws -> Data {
      let data = lock.withLock { () -> Data? in
        guard let value = secret_service_decode_dbus_secret(service, encoded.pointer) else { return nil }
        defer { secret_value_unref(UnsafeMutableRawPointer(value)) }
        var count: gsize = 0
        guard let bytes = secret_value_get(value, &count), count > 0 else { return Data() }
        return Data(bytes: bytes, count: Int(count))
      }
      guard let data else { throw BusFailure(.other, "a secret from the bus could not be decrypted") }
      return data
    }
  }
#endif
