import CofferCShims
import Dispatch

/// A wake-up signal for one thread that waits for work.
///
/// The thread spins briefly before it sleeps: a caller that saves one value after another returns within microseconds,
/// and waking a thread costs more than that.
final class Doorbell: Sendable {
  private enum State {
    static let quiet: UInt64 = 0
    static let asleep: UInt64 = 1
    static let rung: UInt64 = 2
  }

  /// How long the thread spins before it sleeps, in nanoseconds.
  private static let patience: UInt64 = 20_000

  /// The state, changed only atomically and allocated for the lifetime of this object.
  private nonisolated(unsafe) let state: UnsafeMutablePointer<UInt64>
  private let semaphore = DispatchSemaphore(value: 0)

  init() {
    state = .allocate(capacity: 1)
    state.initialize(to: State.quiet)
  }

  deinit { state.deallocate() }

  /// Makes the `wait` under way, or the next one, return.
  func ring() {
    if coffer_atomic_exchange(state, State.rung) == State.asleep { semaphore.signal() }
  }

  /// Blocks until `ring` was called since the last `wait`. Call it from one thread only.
  func wait() {
    let end = DispatchTime.now().uptimeNanoseconds + Self.patience
    repeat {
      for _ in 0..<16 {
        if coffer_atomic_compare_exchange(state, State.rung, State.quiet) == 1 { return }
        coffer_spin_hint()
      }
    } while DispatchTime.now().uptimeNanoseconds < end
    if coffer_atomic_compare_exchange(state, State.quiet, State.asleep) == 1 { semaphore.wait() }
    _ = coffer_atomic_exchange(state, State.quiet)
  }
}
