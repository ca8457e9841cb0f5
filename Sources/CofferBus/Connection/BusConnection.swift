package import CofferCGio

/// A connection to a message bus of its own: nobody else closes it, and its end does not end the process.
///
/// ```swift
/// let bus = try BusConnection(address: SessionBus.address(), timeout: .seconds(5))
/// let notifications = "org.freedesktop.Notifications"
/// let reply = try bus.call(
///   BusMethod(notifications, "GetCapabilities", reply: "(as)"), of: notifications,
///   at: "/org/freedesktop/Notifications")
/// print(reply[0]?.texts ?? [])
/// ```
///
/// It stands on GLib's GDBus, which is loaded when the first connection is made. Calls block their thread, no longer
/// than the timeout, and may come from any number of threads at once. No call starts the called service; ``start(_:)``
/// does. A connection that has ended stays so: make another one. It closes with the last reference to it, without
/// waiting for the bus.
// GDBusConnection may be used from any thread; the pointers, the timeout and the context never change.
public final class BusConnection: @unchecked Sendable {
  package let pointer: OpaquePointer
  package let gio: UnsafePointer<coffer_gio>
  private let timeout: Duration
  // When the bus goes, GDBus puts a note about it, which holds the connection, into the context where it was made. In
  // the process's own one it would lie for ever unless somebody runs GLib's main loop.
  private let context: MainContext

  /// Connects within the timeout, which then holds for each call.
  /// - Parameters:
  ///   - address: of the bus, such as ``SessionBus`` finds it.
  ///   - timeout: at least a millisecond.
  /// - Throws: ``BusFailure``: `noLibrary`, `unreachable`, `timedOut`, `closed`, `denied`.
  public convenience init(address: String, timeout: Duration) throws(BusFailure) {
    try self.init(address: address, timeout: timeout, context: MainContext())
  }

  /// - Parameter context: where signals and the end of the bus are reported to.
  package init(address: String, timeout: Duration, context: MainContext) throws(BusFailure) {
    let gio = try Gio.functions()
    guard !address.utf8.contains(0) else { throw BusFailure(.unreachable, "an address has no zero byte") }
    let deadline = try CallDeadline(timeout)
    defer { deadline.cancel() }
    var error: OpaquePointer?
    let flags = CUnsignedInt(COFFER_CONNECTION_AUTHENTICATES | COFFER_CONNECTION_IS_TO_BUS)
    let made = context.asDefault {
      gio.pointee.g_dbus_connection_new_for_address_sync(address, flags, nil, deadline.cancellable, &error)
    }
    guard let made else { throw BusFailure(taking: error, gio) }
    gio.pointee.g_dbus_connection_set_exit_on_close(made, 0)
    pointer = made
    self.gio = gio
    self.timeout = timeout
    self.context = context
  }

  deinit {
    context.drain()
    // The last reference closes the connection without waiting, unlike a call to close it, which a hung bus delays.
    gio.pointee.g_object_unref(UnsafeMutableRawPointer(pointer))
    context.drain()
  }

  /// Whether the connection has ended.
  public var isClosed: Bool { gio.pointee.g_dbus_connection_is_closed(pointer) != 0 }

  // MARK: Calls

  /// Calls a method and waits for its answer.
  /// - Parameters:
  ///   - method: what is called.
  ///   - destination: a name on the bus: a process's unique one (`:1.7`), or a well-known one that somebody has.
  ///   - path: the object there.
  ///   - arguments: what it takes.
  /// - Returns: The answer, a structure of the type that the method declares.
  /// - Throws: ``BusFailure``. Whether the call may have been carried out all the same: ``BusFailure/mayHaveHappened``.
  public func call(
    _ method: BusMethod, of destination: String, at path: String, _ arguments: [BusValue] = []
  ) throws(BusFailure) -> BusValue {
    try call(method, of: destination, at: path, arguments, within: timeout)
  }

  /// Calls a method of the bus itself, such as `ListNames`.
  /// - Throws: ``BusFailure``
  public func call(_ method: BusMethod, _ arguments: [BusValue] = []) throws(BusFailure) -> BusValue {
    try call(method, of: Self.bus, at: "/org/freedesktop/DBus", arguments)
  }

  /// Calls a method and waits for its answer until the timeout; an answer that comes later is not lost.
  ///
  /// GDBus drops what arrives after a call's timeout. A service that was busy may have done what it was asked for all
  /// the same, and only its answer tells the result, such as the number of a notification that is on the screen.
  /// - Parameters:
  ///   - method: what is called.
  ///   - destination: the name of the service.
  ///   - path: the object at the service.
  ///   - arguments: what the method is given.
  ///   - late: gets the answer when it comes after the timeout but within ten times as long, on a thread of its own;
  ///     `nil` when the call has failed by then. It is called only if this throws `timedOut` for lack of an answer.
  /// - Throws: ``BusFailure``
  public func call(
    _ method: BusMethod, of destination: String, at path: String, _ arguments: [BusValue] = [],
    late: @escaping @Sendable (BusValue?) -> Void
  ) throws(BusFailure) -> BusValue {
    let patient = PatientCall(late: late)
    patient.begin { [self, patience = timeout * 10] () throws(BusFailure) in
      try call(method, of: destination, at: path, arguments, within: patience)
    }
    return try patient.answer(within: timeout, of: method)
  }

  private func call(
    _ method: BusMethod, of destination: String, at path: String, _ arguments: [BusValue], within timeout: Duration
  ) throws(BusFailure) -> BusValue {
    try check(method, destination, path)
    let tuple = try BusValue.structure(arguments).makeVariant(gio)
    var error: OpaquePointer?
    let reply = gio.withType(method.reply) { type in
      gio.pointee.g_dbus_connection_call_sync(
        pointer, destination, path, method.interface, method.name, tuple, type,
        CUnsignedInt(COFFER_CALL_STARTS_NOTHING), timeout.wholeMilliseconds, nil, &error)
    }
    guard let reply else { throw BusFailure(taking: error, gio).ofCall(changingSomething: method.changesSomething) }
    defer { gio.pointee.g_variant_unref(reply) }
    return BusValue(reply, gio)
  }

  /// GLib takes names that are none for mistakes of the program, and says so on standard error.
  private func check(_ method: BusMethod, _ destination: String, _ path: String) throws(BusFailure) {
    let isName = { (text: String, isValid: (UnsafePointer<CChar>?) -> CInt) in
      !text.utf8.contains(0) && isValid(text) != 0
    }
    guard isName(destination, gio.pointee.g_dbus_is_name) else {
      throw BusFailure(.invalid, "'\(destination)' cannot be a name on a bus")
    }
    guard isName(path, gio.pointee.g_variant_is_object_path) else {
      throw BusFailure(.invalid, "'\(path)' is no object path")
    }
    guard isName(method.interface, gio.pointee.g_dbus_is_interface_name),
      isName(method.name, gio.pointee.g_dbus_is_member_name)
    else { throw BusFailure(.invalid, "'\(method.interface).\(method.name)' cannot be a method") }
    guard method.reply.hasPrefix("("), BusValue.isType(method.reply, gio) else {
      throw BusFailure(.invalid, "'\(method.reply)' is no tuple type")
    }
  }

  // MARK: The bus

  private static let bus = "org.freedesktop.DBus"

  /// Which run of which bus this is: unique names mean nothing on another.
  /// - Throws: ``BusFailure``
  public func busIdentifier() throws(BusFailure) -> String {
    try call(BusMethod(Self.bus, "GetId", reply: "(s)"))[0]?.text ?? ""
  }

  /// The unique name of the process that has a name now; `nil` when nobody has it.
  /// - Throws: ``BusFailure``
  public func owner(of name: String) throws(BusFailure) -> String? {
    do {
      return try call(BusMethod(Self.bus, "GetNameOwner", reply: "(s)"), [.string(name)])[0]?.text
    } catch  where error.kind == .noOwner {
      return nil
    }
  }

  /// The names for which the bus can start a process.
  /// - Throws: ``BusFailure``
  public func activatableNames() throws(BusFailure) -> [String] {
    try call(BusMethod(Self.bus, "ListActivatableNames", reply: "(as)"))[0]?.texts ?? []
  }

  /// Has the bus start the process for a name, unless it runs.
  /// - Throws: ``BusFailure``; `noOwner` when the bus knows no program for the name.
  public func start(_ name: String) throws(BusFailure) {
    _ = try call(BusMethod(Self.bus, "StartServiceByName", reply: "(u)"), [.string(name), .uint32(0)])
  }
}
