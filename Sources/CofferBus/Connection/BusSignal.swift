import CofferCGio

/// A signal that was received from a bus.
package struct BusSignal: Sendable {
  package let path: String
  package let interface: String
  package let member: String
  /// The arguments of the signal, as a structure.
  package let arguments: BusValue

  package init(path: String, interface: String, member: String, arguments: BusValue) {
    (self.path, self.interface, self.member, self.arguments) = (path, interface, member, arguments)
  }
}

extension BusConnection {
  /// Subscribes to signals, which are delivered in the default context of this thread whenever it is run.
  /// - Parameters:
  ///   - sender: the bus name of the sender.
  ///   - member: the name of the signal; `nil` for all.
  ///   - argument: the first argument; `nil` for any.
  ///   - handler: receives the signals. It is released once the context has run after ``unsubscribe(_:)``.
  /// - Returns: The subscription, for ``unsubscribe(_:)``.
  package func subscribe(
    sender: String, member: String? = nil, argument: String? = nil, _ handler: @escaping @Sendable (BusSignal) -> Void
  ) -> CUnsignedInt {
    gio.pointee.g_dbus_connection_signal_subscribe(
      pointer, sender, nil, member, nil, argument, 0, takeSignal,
      Unmanaged.passRetained(SignalHandler(gio, handler)).toOpaque(), releaseHandler)
  }

  package func unsubscribe(_ subscription: CUnsignedInt) {
    gio.pointee.g_dbus_connection_signal_unsubscribe(pointer, subscription)
  }
}

private final class SignalHandler {
  let gio: UnsafePointer<coffer_gio>
  let body: @Sendable (BusSignal) -> Void

  init(_ gio: UnsafePointer<coffer_gio>, _ body: @escaping @Sendable (BusSignal) -> Void) {
    self.gio = gio
    self.body = body
  }
}

/// GLib calls this on the thread that runs the context.
private nonisolated func takeSignal(
  connection: OpaquePointer?, sender: UnsafePointer<CChar>?, path: UnsafePointer<CChar>?,
  interface: UnsafePointer<CChar>?, member: UnsafePointer<CChar>?, arguments: OpaquePointer?,
  handler: UnsafeMutableRawPointer?
) {
  guard let handler, let path, let interface, let member, let arguments else { return }
  let taken = Unmanaged<SignalHandler>.fromOpaque(handler).takeUnretainedValue()
  taken.body(
    BusSignal(
      path: String(cString: path), interface: String(cString: interface), member: String(cString: member),
      arguments: BusValue(arguments, taken.gio)))
}

private nonisolated func releaseHandler(_ handler: UnsafeMutableRawPointer?) {
  if let handler { Unmanaged<SignalHandler>.fromOpaque(handler).release() }
}
