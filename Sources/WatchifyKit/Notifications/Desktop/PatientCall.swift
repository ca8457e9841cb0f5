import CofferCGio
import CofferLocks
import Foundation

/// A call whose caller may leave before the answer comes.
///
/// GDBus drops what arrives after a call's timeout. A notification server that is busy for a while has shown its
/// notification all the same, and only its answer says under which number.
// The pointer never changes and is counted here; GDBus connections may be used from any thread; the rest is locked.
final class PatientCall: @unchecked Sendable {
  private struct State {
    var result: Result<UInt32, BusFailure>?
    var isLate = false
  }

  private let connection: OpaquePointer
  private let state = Locked(State())
  private let done = DispatchSemaphore(value: 0)
  private let late: @Sendable (UInt32?) -> Void

  init(_ connection: OpaquePointer, late: @escaping @Sendable (UInt32?) -> Void) {
    self.connection = connection
    self.late = late
    g_object_ref(UnsafeMutableRawPointer(connection))
  }

  deinit { g_object_unref(UnsafeMutableRawPointer(connection)) }

  /// Makes the call; on a thread that may wait.
  func run(
    _ method: String, _ arguments: [BusValue], interface: String, path: String, of destination: String, timeout: CInt
  ) throws(BusFailure) -> UInt32 {
    let type: OpaquePointer = g_variant_type_new("(u)")
    defer { g_variant_type_free(type) }
    var error: UnsafeMutablePointer<GError>?
    let answer = g_dbus_connection_call_sync(
      connection, destination, path, interface, method, BusValue.tuple(arguments), type,
      G_DBUS_CALL_FLAGS_NO_AUTO_START, timeout, nil, &error)
    guard let answer else { throw BusFailure(taking: error) }
    return BusReply(taking: answer).uint32(at: 0)
  }

  func end(_ result: Result<UInt32, BusFailure>) {
    let isLate = state.withLock { state in
      state.result = result
      return state.isLate
    }
    if isLate { late(try? result.get()) } else { done.signal() }
  }

  /// What came within the deadline; after it, what comes goes elsewhere.
  func answer(within deadline: Duration) -> Result<UInt32, BusFailure> {
    _ = done.wait(timeout: .now() + .milliseconds(Int(deadline.glibMilliseconds)))
    return state.withLock { state in
      if let result = state.result { return result }
      state.isLate = true
      return .failure(BusFailure(.timedOut, ""))
    }
  }
}
