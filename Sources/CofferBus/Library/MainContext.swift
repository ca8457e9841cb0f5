import CofferCGio

/// Where GLib puts what it wants to have done later: a queue that one thread at a time runs.
// A GMainContext locks itself, and neither pointer ever changes.
package final class MainContext: @unchecked Sendable {
  private let gio: UnsafePointer<coffer_gio>
  private let pointer: OpaquePointer

  /// - Throws: ``BusFailure`` of kind `noLibrary`.
  package init() throws(BusFailure) {
    gio = try Gio.functions()
    pointer = gio.pointee.g_main_context_new()
  }

  deinit { gio.pointee.g_main_context_unref(pointer) }

  /// What `body` starts on this thread reports here.
  package func asDefault<R>(_ body: () throws -> R) rethrows -> R {
    gio.pointee.g_main_context_push_thread_default(pointer)
    defer { gio.pointee.g_main_context_pop_thread_default(pointer) }
    return try body()
  }

  /// Does what there is to do, without waiting for more.
  package func drain() {
    while gio.pointee.g_main_context_iteration(pointer, 0) != 0 {}
  }

  /// Waits for something to do, or for ``wake()``, and does it.
  package func iterate() { _ = gio.pointee.g_main_context_iteration(pointer, 1) }

  package func wake() { gio.pointee.g_main_context_wakeup(pointer) }
}
