import CofferCGio
import CofferLocks

/// Answers the calls to a name on a bus.
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
/// It has a connection of its own and answers until it is closed or the bus goes. Every call gets to the handler,
/// whichever object it is for, but for those to the interface `org.freedesktop.DBus.Peer`, which GLib answers.
public final class BusService: Sendable {
  /// The connection, by which this process can call others.
  public let connection: BusConnection

  /// Takes a name and begins to answer.
  /// - Parameters:
  ///   - name: a well-known name, such as `com.example.Shop`.
  ///   - address: of the bus.
  ///   - timeout: for connecting and taking the name.
  ///   - handler: called for one call after the other, on GLib's thread: who has more to do answers later, from
  ///     elsewhere. It must not call over ``connection``, which waits for this thread.
  /// - Throws: ``BusFailure``; `denied` when somebody else has the name, too.
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
      throw BusFailure(.denied, "somebody else has the name '\(name)'")
    }
  }

  /// Leaves the bus. Waits until what was answered is sent; not to be called by the handler.
  public func close() {
    _ = connection.gio.pointee.g_dbus_connection_close_sync(connection.pointer, nil, nil)
  }
}

/// A call that waits for its answer. Without one, its caller waits until its own timeout.
// Messages may be used from any thread one at a time, which the lock ensures; the other references never change.
public final class BusCall: @unchecked Sendable {
  /// The object that was called.
  public let path: String
  /// The interface; empty where the caller has named none.
  public let interface: String
  /// The method.
  public let member: String
  /// What it was given.
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

  /// Answers. Only the first answer to a call is sent.
  /// - Parameter values: what the method returns.
  /// - Throws: ``BusFailure`` of kind `invalid` for values that D-Bus cannot carry: the call still waits.
  public func reply(_ values: [BusValue]) throws(BusFailure) {
    let body = try BusValue.structure(values).makeVariant(gio)
    let reply = gio.pointee.g_dbus_message_new_method_reply(message)
    gio.pointee.g_dbus_message_set_body(reply, body)
    send(reply)
  }

  /// Answers with an error. Only the first answer to a call is sent.
  /// - Parameters:
  ///   - name: such as `com.example.Shop.Error.Closed`.
  ///   - text: what happened, for people.
  /// - Throws: ``BusFailure`` of kind `invalid` for a name that is none: the call still waits.
  public func fail(_ name: String, _ text: String) throws(BusFailure) {
    guard !(name + text).utf8.contains(0), gio.pointee.g_dbus_is_interface_name(name) != 0 else {
      throw BusFailure(.invalid, "'\(name)' cannot be the name of an error")
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

/// Shows the thread sanitizer that a taker is made before GLib's thread uses it.
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

/// Takes the calls out of the stream of messages; on GDBus's own thread, so no main loop is needed.
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
