import CofferCGio
import Foundation

/// A GLib main context: a queue of callbacks that one thread at a time runs.
// A GMainContext locks itself, and neither pointer ever changes.
package final class MainContext: @unchecked Sendable {
  private let gio: UnsafePointer<coffer_gio>
  private let pointer: OpaquePointer

  /// Creates a context.
  /// - Throws: ``BusFailure`` of kind `noLibrary`.
  package init() throws(BusFailure) {
    gio = try Gio.functions()
    pointer = gio.pointee.g_main_context_new()
  }

  deinit { gio.pointee.g_main_context_unref(pointer) }

  /// Runs `body` with this context as the default of the thread, so that operations which it starts report here.
  package func asDefault<R>(_ body: () throws -> R) rethrows -> R {
    gio.pointee.g_main_context_push_thread_default(pointer)
    defer { gio.pointee.g_main_context_pop_thread_default(pointer) }
    return try body()
  }

  /// Runs all pending callbacks, without waiting for more.
  package func drain() {
    while gio.pointee.g_main_context_iteration(pointer, 0) != 0 {}
  }

  /// Waits for a callback or for ``wake()``, and runs what is pending.
  package func iterate() { _ = gio.pointee.g_main_context_iteration(pointer, 1) }

  /// Runs callbacks until a condition holds or a point in time has passed.
  package func iterate(until end: ContinuousClock.Instant, or isDone: () -> Bool) {
    let alarm = DispatchWorkItem { [self] in wake() }
    // Rounded up: the loop must not wait again after an alarm that comes a moment early.
    let rest = Int((end - .now).wholeMilliseconds) + 2
    Self.queue.asyncAfter(deadline: .now() + .milliseconds(rest), execute: alarm)
    defer { alarm.cancel() }
    while !isDone(), ContinuousClock.now < end { iterate() }
  }

  // A private queue: all threads of the shared ones may be blocked.
  private static let queue = DispatchQueue(label: "coffer.bus.context")

  package func wake() { gio.pointee.g_main_context_wakeup(pointer) }
}
