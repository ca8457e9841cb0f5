import CofferCShims
import Dispatch

/// Wakes one thread that has gone to sleep for want of work.
///
/// The sleeper looks out for a moment before it sleeps: who saves one value after the other comes back within
/// microseconds, and waking a thread costs more than that.
final class Doorbell: Sendable {
  private enum State {
    static let quiet: UInt64 = 0
    static let asleep: UInt64 = 1
    static let rung: UInt64 = 2
  }

  /// How long the sleeper looks out, in nanoseconds.
  private static let patience: UInt64 = 20_000

  /// One number that both threads change, atomically, and that lives as long as this object.
  private nonisolated(unsafe) let state: UnsafeMutablePointer<UInt64>
  private let semaphore = DispatchSemaphore(value: 0)

  init() {
    state = .allocate(capacity: 1)
    state.initialize(to: State.quiet)
  }

  deinit { state.deallocate() }

  /// Lets the next `wait` return, or the one that is under way.
  func ring() {
    if coffer_atomic_exchange(state, State.rung) == State.asleep { semaphore.signal() }
  }

  /// Returns once it was rung since the last `wait`. For one thread only.
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
