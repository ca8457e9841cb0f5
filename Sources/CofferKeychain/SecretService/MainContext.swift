#if SecretService && os(Linux)
  import CofferCSecret

  /// Where GLib puts what it wants to have done later: a queue that one thread at a time runs.
  // A GMainContext locks itself, and the pointer never changes.
  final class MainContext: @unchecked Sendable {
    private let pointer: OpaquePointer = g_main_context_new()

    deinit { g_main_context_unref(pointer) }

    /// What `body` starts on this thread reports here.
    func asDefault<R>(_ body: () throws -> R) rethrows -> R {
      g_main_context_push_thread_default(pointer)
      defer { g_main_context_pop_thread_default(pointer) }
      return try body()
    }

    /// Does what there is to do, without waiting for more.
    func drain() {
      while g_main_context_iteration(pointer, 0) != 0 {}
    }

    /// Waits for something to do, or for ``wake()``, and does it.
    func iterate() { g_main_context_iteration(pointer, 1) }

    func wake() { g_main_context_wakeup(pointer) }
  }
#endif
