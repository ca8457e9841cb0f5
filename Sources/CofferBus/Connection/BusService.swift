import CofferCGio
import CofferCore

/// A service that answers the calls to a name on a bus.
///
/// ```swift
/// let service = try BusService("com.example.Shop", address: SessionBus.address(), timeout: .seconds(5)) { call in
///   switch (call.interface, call.member) {
///   case ("com.example.Shop", "CountOrders"): try? call.reply([.uint32(3)])
///   default: try? call.fail("org.freedesktop.DBus.Error.UnknownMethod", "There is no \(call.member).")
///   }
/// }
/// ```
///
/// It has its own connection and answers calls until it is closed or the bus ends. The handler receives the calls to
/// all objects, except those to the interface `org.freedesktop.DBus.Peer`, which GLib answers.
public final class BusService: Sendable {
  /// The connection of the service, which this process can also use to call others.
  public let connection: BusConnection

  /// Acquires a name and starts to answer calls.
  /// - Parameters:
  ///   - name: a well-known name, such as `com.example.Shop`.
  ///   - address: the address of the bus.
  ///   - timeout: the timeout for connecting and for acquiring the name.
  ///   - handler: receives the calls serially on GLib's thread. For longer work, reply later from another thread. It
  ///     must not call over ``connection``, which would wait for the same thread.
  /// - Throws: ``BusFailure``; `denied` also if the name already has an owner.
  public init(
    _ name: String, address: String, timeout: Duration, _ handler: @escaping @Sendable (BusCall) -> Void
  ) throws(BusFailure) {
    connection = try BusConnection(address: address, timeout: timeout)
    let taker = CallTaker(connection.gio, handler)
    showOrder()
    _ = connection.gio.pointee.g_dbus_connection_add_filter(
      connection.pointer, takeCall, Unmanaged.passRetained(taker).toOpaque(), releaseTaker)
    let request = BusMethod("org.freedesktop.DBus", "RequestName", reply: "(u)")
    let (doNotQueue, isOwner) = (UInt32(4), UInt32(1))
    guard try connection.call(request, [.string(name), .uint32(doNotQueue)])[0]?.uint32 == isOwner else {
      throw BusFailure(.denied, "the name '\(name)' already has an owner")
    }
  }

  /// Closes the connection after sending all replies. Must not be called by the handler.
  public func close() {
    _ = connection.gio.pointee.g_dbus_connection_close_sync(connection.pointer, nil, nil)
  }
}

/// A call that awaits its reply. Without one, the caller waits until its own timeout.
// Messages may be used from any thread one at a time, which the lock ensures; the other references never change.
public final class BusCall: @unchecked Sendable {
  /// The path of the called object.
  public let path: String
  /// The name of the interface; empty if the caller specified none.
  public let interface: String
  /// The name of the method.
  public let member: String
  /// The arguments of the call.
  public let arguments: [BusValue]

  private let gio: UnsafePointer<coffer_gio>
  private let connection: OpaquePointer
  private let message: OpaquePointer
  private let isAnswered = Locked(false)

  fileprivate init(_ gio: UnsafePointer<coffer_gio>, _ connection: OpaquePointer, taking message: OpaquePointer) {
    let text = { (text: UnsafePointer<CChar>?) in text.map { String(cString: $0) } ?? "" }
    path = text(gio.pointee.g_dbus_message_get_path(message))
    interface = text(gio.pointee.g_dbus_message_get_interface(message))
    member = text(gio.pointee.g_dbus_message_get_member(message))
    arguments = gio.pointee.g_dbus_message_get_body(message).map { BusValue($0, gio).children } ?? []
    self.gio = gio
    self.message = message
    self.connection = connection
    _ = gio.pointee.g_object_ref(UnsafeMutableRawPointer(connection))
  }

  deinit {
    gio.pointee.g_object_unref(UnsafeMutableRawPointer(message))
    gio.pointee.g_object_unref(UnsafeMutableRawPointer(connection))
  }

  /// Replies to the call. Only the first reply to a call is sent.
  /// - Parameter values: the values that the method returns.
  /// - Throws: ``BusFailure`` of kind `invalid` for values that are not valid in D-Bus. The call still awaits a reply.
  public func reply(_ values: [BusValue]) throws(BusFailure) {
    let body = try BusValue.structure(values).makeVariant(gio)
    let reply = gio.pointee.g_dbus_message_new_method_reply(message)
    gio.pointee.g_dbus_message_set_body(reply, body)
    send(reply)
  }

  /// Replies to the call with an error. Only the first reply to a call is sent.
  /// - Parameters:
  ///   - name: the name of the error, such as `com.example.Shop.Error.Closed`.
  ///   - text: a description of the error for users.
  /// - Throws: ``BusFailure`` of kind `invalid` for an invalid name or a zero byte. The call still awaits a reply.
  public func fail(_ name: String, _ text: String) throws(BusFailure) {
    guard !(name + text).utf8.contains(0), gio.pointee.g_dbus_is_interface_name(name) != 0 else {
      throw BusFailure(.invalid, "'\(name)' is not a valid error name")
    }
    send(gio.pointee.g_dbus_message_new_method_error_literal(message, name, text))
  }

  private func send(_ reply: OpaquePointer) {
    isAnswered.withLock { isAnswered in
      guard !isAnswered else { return }
      isAnswered = true
      _ = gio.pointee.g_dbus_connection_send_message(connection, reply, 0, nil, nil)
    }
    gio.pointee.g_object_unref(UnsafeMutableRawPointer(reply))
  }
}

/// Informs the thread sanitizer that a handler is created before GLib's thread uses it.
private func showOrder() {
  #if COFFER_TSAN
    coffer_show_order()
  #endif
}

private final class CallTaker {
  let gio: UnsafePointer<coffer_gio>
  let body: @Sendable (BusCall) -> Void

  init(_ gio: UnsafePointer<coffer_gio>, _ body: @escaping @Sendable (BusCall) -> Void) {
    self.gio = gio
    self.body = body
  }
}

/// Filters the calls from the incoming messages, on GDBus's own thread, so that no main loop is needed.
private nonisolated func takeCall(
  connection: OpaquePointer?, message: OpaquePointer?, isIncoming: CInt, taker: UnsafeMutableRawPointer?
) -> OpaquePointer? {
  guard let connection, let message, let taker, isIncoming != 0 else { return message }
  showOrder()
  let taken = Unmanaged<CallTaker>.fromOpaque(taker).takeUnretainedValue()
  guard taken.gio.pointee.g_dbus_message_get_message_type(message) == CUnsignedInt(COFFER_MESSAGE_IS_CALL) else {
    return message
  }
  let call = BusCall(taken.gio, connection, taking: message)
  guard call.interface != "org.freedesktop.DBus.Peer" else {
    _ = taken.gio.pointee.g_object_ref(UnsafeMutableRawPointer(message))
    return message
  }
  taken.body(call)
  return nil
}

private nonisolated func releaseTaker(_ taker: UnsafeMutableRawPointer?) {
  if let taker { Unmanaged<CallTaker>.fromOpaque(taker).release() }
}
