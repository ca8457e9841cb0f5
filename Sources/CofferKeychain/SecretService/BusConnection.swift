#if SecretService && os(Linux)
  import CofferCSecret
  import Foundation

  /// A connection to a message bus that belongs to us alone: nobody else closes it, and its end does not end the
  /// process.
  // GDBusConnection may be used from any thread; the pointer, the timeout and the context never change.
  final class BusConnection: @unchecked Sendable {
    let pointer: OpaquePointer
    private let timeout: Duration
    // When the bus goes, GDBus puts a note about it, which holds the connection, into the context where it was made. In
    // the process's own one it would lie for ever unless somebody runs GLib's main loop.
    private let context: MainContext

    /// Connects within the timeout, which then holds for each call.
    init(address: String, timeout: Duration, context: MainContext = MainContext()) throws {
      let deadline = CallDeadline(timeout)
      defer { deadline.cancel() }
      var error: UnsafeMutablePointer<GError>?
      let made = context.asDefault { coffer_bus_connect(address, deadline.cancellable, &error) }
      guard let made else { throw BusFailure(taking: error) }
      pointer = made
      self.timeout = timeout
      self.context = context
    }

    deinit {
      context.drain()
      // The last reference closes the connection without waiting, unlike a call to close it, which a hung bus delays.
      g_object_unref(UnsafeMutableRawPointer(pointer))
      context.drain()
    }

    var isClosed: Bool { g_dbus_connection_is_closed(pointer) != 0 }

    /// Calls a method and waits for its answer; never starts a service.
    func call(
      _ method: BusMethod, of name: String, at path: String, _ arguments: Variant? = nil
    ) throws -> Variant {
      var error: UnsafeMutablePointer<GError>?
      let reply = withExtendedLifetime(arguments) {
        VariantType.with(method.reply) { type in
          coffer_bus_call(
            pointer, name, path, method.interface, method.name, arguments?.pointer, type, timeout.milliseconds, &error)
        }
      }
      guard let reply else {
        var failure = BusFailure(taking: error)
        failure.isChange = method.isChange
        throw failure
      }
      return Variant(taking: reply)
    }

    /// Calls a method of the bus itself.
    func call(_ method: BusMethod, _ arguments: Variant? = nil) throws -> Variant {
      try call(method, of: "org.freedesktop.DBus", at: "/org/freedesktop/DBus", arguments)
    }
  }

  /// A method of D-Bus.
  struct BusMethod: Sendable {
    let interface: String
    let name: String
    /// The type of the answer, a tuple.
    let reply: String
    /// Whether it changes what the keyring holds.
    let isChange: Bool

    init(_ interface: String, _ name: String, reply: String, isChange: Bool = false) {
      self.interface = interface
      self.name = name
      self.reply = reply
      self.isChange = isChange
    }
  }

  /// Ends a blocking call of GIO that has no timeout of its own.
  // GCancellable and DispatchWorkItem may be cancelled from any thread, and neither reference ever changes.
  final class CallDeadline: @unchecked Sendable {
    let cancellable: UnsafeMutablePointer<GCancellable>
    private let work: DispatchWorkItem
    // Its own queue: the shared ones may be full of threads that wait for what is to be ended here.
    private static let queue = DispatchQueue(label: "coffer.keyring.deadline")

    init(_ duration: Duration) {
      let cancellable: UnsafeMutablePointer<GCancellable> = g_cancellable_new()
      self.cancellable = cancellable
      let held = HeldObject(pointer: UnsafeMutableRawPointer(cancellable))
      work = DispatchWorkItem {
        held.withPointer { g_cancellable_cancel($0.assumingMemoryBound(to: GCancellable.self)) }
      }
      Self.queue.asyncAfter(deadline: .now() + .milliseconds(Int(duration.milliseconds)), execute: work)
    }

    deinit {
      work.cancel()
      g_object_unref(UnsafeMutableRawPointer(cancellable))
    }

    func cancel() { work.cancel() }
  }

  /// A GObject that stays as long as this does.
  // Counting references is atomic in GObject, and the pointer never changes.
  private final class HeldObject: @unchecked Sendable {
    private let pointer: UnsafeMutableRawPointer
    init(pointer: UnsafeMutableRawPointer) { self.pointer = g_object_ref(pointer) }
    deinit { g_object_unref(pointer) }
    func withPointer(_ body: (UnsafeMutableRawPointer) -> Void) { body(pointer) }
  }

  /// Where the session's bus is.
  enum SessionBus {
    /// The address that the environment names, else the place where systemd puts the bus. Nothing is ever started.
    static func address(
      environment: (String) -> String? = { ProcessInfo.processInfo.environment[$0] }
    ) throws -> String {
      if let address = environment("DBUS_SESSION_BUS_ADDRESS"), !address.isEmpty { return try usable(address) }
      guard let folder = environment("XDG_RUNTIME_DIR"), !folder.isEmpty else {
        throw NotOpen(
          state: .noBus(reason: "neither DBUS_SESSION_BUS_ADDRESS nor XDG_RUNTIME_DIR is set"))
      }
      let socket = folder + "/bus"
      var status = stat()
      guard stat(socket, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else {
        throw NotOpen(state: .noBus(reason: "DBUS_SESSION_BUS_ADDRESS is not set and there is no socket '\(socket)'"))
      }
      let escaped: UnsafeMutablePointer<CChar> = g_dbus_address_escape_value(socket)
      defer { g_free(escaped) }
      return "unix:path=" + String(cString: escaped)
    }

    /// An address without the parts that would start something.
    static func usable(_ address: String) throws -> String {
      let starters = ["autolaunch:", "unixexec:"]
      let parts = address.split(separator: ";").filter { part in !starters.contains { part.hasPrefix($0) } }
      guard !parts.isEmpty else {
        throw NotOpen(state: .noBus(reason: "the bus address '\(address)' names nothing that runs"))
      }
      return parts.joined(separator: ";")
    }
  }

  extension Duration {
    /// For GLib; at least one, since none and negative numbers mean other things there.
    var milliseconds: CInt {
      let (seconds, attoseconds) = components
      return CInt(clamping: max(1, min(seconds, 1_000_000) * 1_000 + attoseconds / 1_000_000_000_000_000))
    }
  }
#endif
