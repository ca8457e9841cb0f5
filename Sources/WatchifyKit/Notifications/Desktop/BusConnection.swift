import CofferCGio
import Foundation

/// A private connection to a message bus: nobody else closes it, and its end does not end the process. For one thread
/// at a time.
final class BusConnection {
  private let pointer: OpaquePointer
  private let timeout: Duration
  // When the bus goes, GDBus leaves a note in the context in which the connection was made. In the process's own one,
  // which nobody runs, the note and the connection that it holds would stay for ever.
  private let context: OpaquePointer
  /// Which run of which bus it is: the names of its clients mean nothing on another.
  private(set) var busIdentifier = ""

  /// Connects within the timeout, which then holds for each call.
  init(address: String, timeout: Duration) throws(BusFailure) {
    let deadline = CallDeadline(timeout)
    defer { deadline.end() }
    let context: OpaquePointer = g_main_context_new()
    g_main_context_push_thread_default(context)
    var error: UnsafeMutablePointer<GError>?
    let flags = GDBusConnectionFlags(
      G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
        | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue)
    let made = g_dbus_connection_new_for_address_sync(address, flags, nil, deadline.cancellable, &error)
    g_main_context_pop_thread_default(context)
    guard let made else {
      g_main_context_unref(context)
      throw BusFailure(taking: error)
    }
    g_dbus_connection_set_exit_on_close(made, 0)
    pointer = made
    self.timeout = timeout
    self.context = context
    busIdentifier = try callBus("GetId", reply: "(s)").string(at: 0)
  }

  deinit {
    drain()
    // The last reference closes the connection without waiting for a bus that may hang.
    g_object_unref(UnsafeMutableRawPointer(pointer))
    drain()
    g_main_context_unref(context)
  }

  private func drain() {
    while g_main_context_iteration(context, 0) != 0 {}
  }

  var isClosed: Bool { g_dbus_connection_is_closed(pointer) != 0 }

  /// Calls a method and waits for its answer.
  /// - Parameters:
  ///   - reply: the type of the answer, a tuple; another one is a failure.
  ///   - destination: a name on the bus; nothing is started for it.
  func call(
    _ method: String, _ arguments: [BusValue] = [], reply: String, interface: String, path: String,
    of destination: String
  ) throws(BusFailure) -> BusReply {
    let type: OpaquePointer = g_variant_type_new(reply)
    defer { g_variant_type_free(type) }
    var error: UnsafeMutablePointer<GError>?
    let answer = g_dbus_connection_call_sync(
      pointer, destination, path, interface, method, BusValue.tuple(arguments), type, G_DBUS_CALL_FLAGS_NO_AUTO_START,
      timeout.glibMilliseconds, nil, &error)
    guard let answer else { throw BusFailure(taking: error) }
    return BusReply(taking: answer)
  }

  /// Calls a method that returns a number, and waits for its answer until the timeout. What comes after that, however
  /// late up to ten times as long, is handed to `late`, on a thread of its own; `nil` where nothing has come.
  func callPatiently(
    _ method: String, _ arguments: [BusValue], interface: String, path: String, of destination: String,
    late: @escaping @Sendable (UInt32?) -> Void
  ) throws(BusFailure) -> UInt32 {
    let call = PatientCall(pointer, late: late)
    let (method, patience) = (method, (timeout * 10).glibMilliseconds)
    let thread = Thread {
      call.end(
        Result { () throws(BusFailure) in
          try call.run(method, arguments, interface: interface, path: path, of: destination, timeout: patience)
        })
    }
    thread.name = "watchify.desktop.call"
    thread.start()
    return try call.answer(within: timeout).get()
  }

  /// Calls a method of the bus itself.
  func callBus(_ method: String, _ arguments: [BusValue] = [], reply: String) throws(BusFailure) -> BusReply {
    let bus = "org.freedesktop.DBus"
    return try call(method, arguments, reply: reply, interface: bus, path: "/org/freedesktop/DBus", of: bus)
  }

  /// The process that has a well-known name now; one is started when the bus knows how.
  func owner(of name: String) throws(BusFailure) -> String {
    do {
      return try callBus("GetNameOwner", [.string(name)], reply: "(s)").string(at: 0)
    } catch  where error.kind == .noOwner {
      _ = try callBus("StartServiceByName", [.string(name), .uint32(0)], reply: "(u)")
      return try callBus("GetNameOwner", [.string(name)], reply: "(s)").string(at: 0)
    }
  }
}

/// Ends a blocking call of GIO that has no timeout of its own.
// A GCancellable may be cancelled from any thread, its references are counted atomically, and both properties stay.
private final class CallDeadline: @unchecked Sendable {
  let cancellable: UnsafeMutablePointer<GCancellable>
  private let timer: any DispatchSourceTimer

  init(_ duration: Duration) {
    cancellable = g_cancellable_new()
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "watchify.desktop.deadline"))
    timer.schedule(deadline: .now() + .milliseconds(Int(duration.glibMilliseconds)))
    // The timer holds this object until it is ended, so the cancellable cannot go before.
    timer.setEventHandler { g_cancellable_cancel(self.cancellable) }
    timer.setCancelHandler { withExtendedLifetime(self) {} }
    timer.resume()
  }

  deinit { g_object_unref(UnsafeMutableRawPointer(cancellable)) }

  func end() { timer.cancel() }
}

extension Duration {
  /// At least one: none and negative numbers mean other things to GLib.
  var glibMilliseconds: CInt {
    let (seconds, attoseconds) = components
    return CInt(clamping: max(1, min(seconds, 1_000_000) * 1_000 + attoseconds / 1_000_000_000_000_000))
  }
}
