import CofferCore

#if SecretService && os(Linux)
  import CofferBus
  import CofferCGio
  import Foundation

  /// libsecret, loaded when it is first needed and never unloaded. It only does the cryptography of a session: its own
  /// calls unlock without a request, return "not found" for "locked", and share a connection that ends the process.
  private enum SecretLibrary {
    // C fills the table once, and nothing changes it or frees it afterwards.
    private nonisolated(unsafe) static let loaded = Gio.load(
      "libsecret-1.so.0", of: "libsecret-1-0", coffer_secret_load
    ).map { (functions: $0, type: coffer_secret_service_register($0)) }

    /// Returns the library's functions and the GObject type of sessions.
    /// - Throws: `BusFailure` of kind `noLibrary`.
    static func functions() throws(BusFailure) -> (functions: UnsafePointer<coffer_secret>, type: Int) {
      try loaded.get()
    }
  }

  /// A session with one keyring process, whose negotiated key encrypts secrets on the bus.
  // Every use of the pointer is under the lock.
  final class SecretSession: @unchecked Sendable {
    private let service: OpaquePointer
    private let secret: UnsafePointer<coffer_secret>
    private let gio: UnsafePointer<coffer_gio>
    private let lock = NSLock()
    // The context in which the proxy schedules the release of its resources.
    private let context: MainContext
    let connection: BusConnection
    /// The unique bus name of the keyring's process; the session is not valid for any other process.
    let owner: String
    /// The session's path on the bus.
    let path: KeyringItemPath

    init(connection: BusConnection, owner: String, timeout: Duration) throws {
      let (secret, type) = try SecretLibrary.functions()
      let gio = connection.gio
      let timeout = try CallBudget.rest(of: timeout)
      let deadline = try CallDeadline(timeout)
      let context = try MainContext()
      defer {
        deadline.cancel()
        context.drain()
      }
      var error: OpaquePointer?
      let made = context.asDefault { () -> OpaquePointer? in
        guard
          let service = coffer_secret_service_new(
            secret, type, connection.pointer, owner, timeout.wholeMilliseconds, deadline.cancellable, &error)
        else { return nil }
        // A malformed reply is an error, without libsecret's message on standard error.
        let quiet = coffer_begin_quiet(secret)
        defer { coffer_end_quiet(secret, quiet) }
        guard secret.pointee.secret_service_ensure_session_sync(service, deadline.cancellable, &error) != 0 else {
          gio.pointee.g_object_unref(UnsafeMutableRawPointer(service))
          return nil
        }
        return service
      }
      guard let made else { throw BusFailure(taking: error, gio) }
      let name = secret.pointee.secret_service_get_session_dbus_path(made)
      guard let path = name.flatMap({ KeyringItemPath(String(cString: $0)) }) else {
        gio.pointee.g_object_unref(UnsafeMutableRawPointer(made))
        throw BusFailure(.other, "the keyring opened a session without a path")
      }
      // libsecret may know further algorithms; what they protect is not known here.
      let algorithm = secret.pointee.secret_service_get_session_algorithms(made).map { String(cString: $0) }
      guard let algorithm, [Self.encryptedAlgorithm, Self.plainAlgorithm].contains(algorithm) else {
        gio.pointee.g_object_unref(UnsafeMutableRawPointer(made))
        throw BusFailure(.other, "the keyring opened a session with an unknown algorithm")
      }
      self.algorithm = algorithm
      service = made
      (self.secret, self.gio, self.context) = (secret, gio, context)
      self.connection = connection
      self.owner = owner
      self.path = path
    }

    deinit {
      gio.pointee.g_object_unref(UnsafeMutableRawPointer(service))
      context.drain()
    }

    /// The algorithm that encrypts secrets on the bus: that of the specification, or `plain` if the keyring supports
    /// none.
    let algorithm: String
    /// Whether secrets cross the bus unencrypted.
    var isPlain: Bool { algorithm != Self.encryptedAlgorithm }

    private static let encryptedAlgorithm = "dh-ietf1024-sha256-aes128-cbc-pkcs7"
    private static let plainAlgorithm = "plain"

    /// Returns a secret, encrypted, as `(oayays)`.
    func encode(_ data: Data) throws -> BusValue {
      let encoded = lock.withLock { () -> BusValue? in
        // libsecret keeps the value in memory that is locked and wiped. Empty data may have no address.
        let value = data.withUnsafeBytes { bytes in
          let (start, type) = (bytes.baseAddress?.assumingMemoryBound(to: CChar.self), "application/octet-stream")
          return start.map { secret.pointee.secret_value_new($0, bytes.count, type) }
            ?? secret.pointee.secret_value_new("", 0, type)
        }
        guard let value else { return nil }
        defer { secret.pointee.secret_value_unref(UnsafeMutableRawPointer(value)) }
        guard let made = secret.pointee.secret_service_encode_dbus_secret(service, value) else { return nil }
        let encoded = gio.pointee.g_variant_take_ref(made)
        defer { gio.pointee.g_variant_unref(encoded) }
        return BusValue(encoded, gio)
      }
      guard let encoded else { throw BusFailure(.other, "the secret could not be encrypted for the bus") }
      return encoded
    }

    /// Returns the decrypted secret of an `(oayays)`.
    func decode(_ encoded: BusValue) throws -> Data {
      let variant = try gio.pointee.g_variant_take_ref(encoded.makeVariant(gio))
      defer { gio.pointee.g_variant_unref(variant) }
      let data = lock.withLock { () -> Data? in
        let quiet = coffer_begin_quiet(secret)
        defer { coffer_end_quiet(secret, quiet) }
        guard let value = secret.pointee.secret_service_decode_dbus_secret(service, variant) else { return nil }
        defer { secret.pointee.secret_value_unref(UnsafeMutableRawPointer(value)) }
        var count = 0
        guard let bytes = secret.pointee.secret_value_get(value, &count), count > 0 else { return Data() }
        return Data(bytes: bytes, count: Int(count))
      }
      guard let data else { throw BusFailure(.other, "a secret from the bus could not be decrypted") }
      return data
    }
  }
#endif
