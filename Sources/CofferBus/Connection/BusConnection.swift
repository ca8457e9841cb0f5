package import CofferCGio

/// A private connection to a message bus. It is not shared with other code, and its end does not end the process.
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
/// It uses GLib's GDBus, which is loaded when the first connection is created. Calls block their thread for at most the
/// timeout and may be made from any number of threads at once. No call starts the called service; ``start(_:)`` does. A
/// closed connection cannot be reopened: create another one. Releasing the last reference closes the connection without
/// waiting for the bus.
// GDBusConnection may be used from any thread; the pointers, the timeout and the context never change.
public final class BusConnection: @unchecked Sendable {
  package let pointer: OpaquePointer
  package let gio: UnsafePointer<coffer_gio>
  private let timeout: Duration
  // When the bus closes, GDBus queues a callback, which retains the connection, in the context of its creation. In the
  // default context it would stay there for ever unless the process runs GLib's main loop.
  private let context: MainContext

  /// Connects within the timeout, which then applies to each call.
  /// - Parameters:
  ///   - address: the address of the bus, such as the one that ``SessionBus`` finds.
  ///   - timeout: the timeout, at least a millisecond.
  /// - Throws: ``BusFailure``: `noLibrary`, `unreachable`, `timedOut`, `closed`, `denied`.
  public convenience init(address: String, timeout: Duration) throws(BusFailure) {
    try self.init(address: address, timeout: timeout, context: MainContext())
  }

  /// Connects within the timeout.
  /// - Parameter context: the context in which signals and the closing of the bus are reported.
  package init(address: String, timeout: Duration, context: MainContext) throws(BusFailure) {
    let gio = try Gio.functions()
    guard !address.utf8.contains(0) else { throw BusFailure(.unreachable, "the address contains a zero byte") }
    let deadline = try CallDeadline(CallBudget.rest(of: timeout))
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
    // Releasing the last reference closes the connection without waiting; an explicit close would wait for a hung bus.
    gio.pointee.g_object_unref(UnsafeMutableRawPointer(pointer))
    context.drain()
  }

  /// Whether the connection is closed.
  public var isClosed: Bool { gio.pointee.g_dbus_connection_is_closed(pointer) != 0 }

  /// The unique name that the bus has given to this connection, such as `:1.7`.
  package var uniqueName: String? {
    gio.pointee.g_dbus_connection_get_unique_name(pointer).map { String(cString: $0) }
  }

  // MARK: Calls

  /// Calls a method and waits for its reply.
  /// - Parameters:
  ///   - method: the method to call.
  ///   - destination: the bus name of the called process: its unique name (`:1.7`) or a well-known name that it owns.
  ///   - path: the path of the called object.
  ///   - arguments: the arguments of the method.
  /// - Returns: The reply, a structure of the type that the method declares.
  /// - Throws: ``BusFailure``, with ``BusFailure/mayHaveHappened`` if the call may have been carried out nevertheless.
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

  /// Calls a method and waits for its reply until the timeout; a later reply is passed to a closure.
  ///
  /// GDBus drops replies that arrive after a call's timeout. A busy service may have carried out the call nevertheless,
  /// and only its reply contains the result, such as the number of a notification that is on the screen.
  /// - Parameters:
  ///   - method: the method to call.
  ///   - destination: the bus name of the service.
  ///   - path: the path of the called object.
  ///   - arguments: the arguments of the method.
  ///   - late: receives a reply that arrives after the timeout but within ten times the timeout, or `nil` if the call
  ///     has failed by then. It is called on another thread, and only if this throws `timedOut` for lack of a reply.
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

  /// Calls one method of many objects, without waiting for one reply before the next call.
  /// - Returns: The replies and the failures of single calls, in the order of the paths.
  /// - Throws: ``BusFailure``: `timedOut` once the time has passed.
  package func call(
    _ method: BusMethod, of destination: String, at paths: [String], _ arguments: [BusValue]
  ) throws(BusFailure) -> [Result<BusValue, BusFailure>] {
    var results: [Result<BusValue, BusFailure>] = []
    // A bus limits the number of replies that a connection awaits.
    for start in stride(from: 0, to: paths.count, by: 128) {
      let some = paths[start..<min(start + 128, paths.count)]
      for path in some { try check(method, destination, path) }
      let context = try MainContext()
      let within = try CallBudget.rest(of: timeout).wholeMilliseconds
      let replies = try some.map { _ throws(BusFailure) in
        (AwaitedReply(gio), try BusValue.structure(arguments).makeVariant(gio))
      }
      context.asDefault {
        gio.withType(method.reply) { type in
          for (path, (reply, tuple)) in zip(some, replies) {
            gio.pointee.g_dbus_connection_call(
              pointer, destination, path, method.interface, method.name, tuple, type,
              CUnsignedInt(COFFER_CALL_STARTS_NOTHING), within, nil, takeReply,
              Unmanaged.passRetained(reply).toOpaque())
          }
        }
        // Each call ends with a reply, its timeout or the end of the connection.
        while replies.contains(where: { $0.0.result == nil }) { context.iterate() }
      }
      for (reply, _) in replies { if let result = reply.result { results.append(result) } }
    }
    return results
  }

  /// Calls a method and waits for its reply until the deadline expires, for methods that wait for a person.
  /// - Throws: ``BusFailure``: `timedOut` once the deadline has expired.
  package func call(
    _ method: BusMethod, of destination: String, at path: String, _ arguments: [BusValue], until deadline: CallDeadline
  ) throws(BusFailure) -> BusValue {
    try call(method, of: destination, at: path, arguments, within: .seconds(1_000_000), deadline.cancellable)
  }

  private func call(
    _ method: BusMethod, of destination: String, at path: String, _ arguments: [BusValue], within timeout: Duration,
    _ cancellable: OpaquePointer? = nil
  ) throws(BusFailure) -> BusValue {
    try check(method, destination, path)
    let rest = try CallBudget.rest(of: timeout)
    let tuple = try BusValue.structure(arguments).makeVariant(gio)
    var error: OpaquePointer?
    let reply = gio.withType(method.reply) { type in
      gio.pointee.g_dbus_connection_call_sync(
        pointer, destination, path, method.interface, method.name, tuple, type,
        CUnsignedInt(COFFER_CALL_STARTS_NOTHING), rest.wholeMilliseconds, cancellable, &error)
    }
    guard let reply else { throw BusFailure(taking: error, gio).ofCall(changingSomething: method.changesSomething) }
    defer { gio.pointee.g_variant_unref(reply) }
    return BusValue(reply, gio)
  }

  /// Refuses invalid names, which GLib would treat as programming errors and report on standard error.
  private func check(_ method: BusMethod, _ destination: String, _ path: String) throws(BusFailure) {
    let isName = { (text: String, isValid: (UnsafePointer<CChar>?) -> CInt) in
      !text.utf8.contains(0) && isValid(text) != 0
    }
    guard isName(destination, gio.pointee.g_dbus_is_name) else {
      throw BusFailure(.invalid, "'\(destination)' is not a valid bus name")
    }
    guard isName(path, gio.pointee.g_variant_is_object_path) else {
      throw BusFailure(.invalid, "'\(path)' is not an object path")
    }
    guard isName(method.interface, gio.pointee.g_dbus_is_interface_name),
      isName(method.name, gio.pointee.g_dbus_is_member_name)
    else { throw BusFailure(.invalid, "'\(method.interface).\(method.name)' is not a valid method name") }
    guard method.reply.hasPrefix("("), BusValue.isType(method.reply, gio) else {
      throw BusFailure(.invalid, "'\(method.reply)' is not a tuple type")
    }
  }

  // MARK: The bus

  private static let bus = "org.freedesktop.DBus"

  /// Returns the identifier of this run of the bus. Unique names are valid only within one run.
  /// - Throws: ``BusFailure``
  public func busIdentifier() throws(BusFailure) -> String {
    try call(BusMethod(Self.bus, "GetId", reply: "(s)"))[0]?.text ?? ""
  }

  /// Returns the unique name of the process that owns a name now, or `nil` if the name has no owner.
  /// - Throws: ``BusFailure``
  public func owner(of name: String) throws(BusFailure) -> String? {
    do {
      return try call(BusMethod(Self.bus, "GetNameOwner", reply: "(s)"), [.string(name)])[0]?.text
    } catch  where error.kind == .noOwner {
      return nil
    }
  }

  /// Returns the number of the process that owns a name.
  /// - Throws: ``BusFailure``
  package func process(of name: String) throws(BusFailure) -> Int? {
    let method = BusMethod(Self.bus, "GetConnectionUnixProcessID", reply: "(u)")
    return try call(method, [.string(name)])[0]?.uint32.map { Int($0) }
  }

  /// Returns the names for which the bus can start a process.
  /// - Throws: ``BusFailure``
  public func activatableNames() throws(BusFailure) -> [String] {
    try call(BusMethod(Self.bus, "ListActivatableNames", reply: "(as)"))[0]?.texts ?? []
  }

  /// Starts the process for a name by means of the bus, unless it is running.
  /// - Throws: ``BusFailure``; `noOwner` if no program is registered for the name.
  public func start(_ name: String) throws(BusFailure) {
    _ = try call(BusMethod(Self.bus, "StartServiceByName", reply: "(u)"), [.string(name), .uint32(0)])
  }
}

/// The reply that an asynchronous call awaits. It is set by the thread that runs the context of the call.
private final class AwaitedReply {
  let gio: UnsafePointer<coffer_gio>
  var result: Result<BusValue, BusFailure>?

  init(_ gio: UnsafePointer<coffer_gio>) { self.gio = gio }
}

private nonisolated func takeReply(
  source: OpaquePointer?, result: OpaquePointer?, awaited: UnsafeMutableRawPointer?
) {
  guard let source, let awaited else { return }
  let reply = Unmanaged<AwaitedReply>.fromOpaque(awaited).takeRetainedValue()
  var error: OpaquePointer?
  let variant = reply.gio.pointee.g_dbus_connection_call_finish(source, result, &error)
  guard let variant else {
    reply.result = .failure(BusFailure(taking: error, reply.gio))
    return
  }
  defer { reply.gio.pointee.g_variant_unref(variant) }
  reply.result = .success(BusValue(variant, reply.gio))
}
