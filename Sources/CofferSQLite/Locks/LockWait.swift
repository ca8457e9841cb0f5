import Dispatch
import Foundation

/// A wait for a lock, with a deadline on the uptime clock.
struct LockWait {
  /// The maximum duration of each wait in nanoseconds; `nil` if the deadline is fixed.
  private let patience: UInt64?
  private var deadline: UInt64
  private var attempts = 0
  /// The number of pauses in all waits.
  private(set) var pauses = 0

  /// Begins a wait of at most this many milliseconds.
  init(milliseconds: Int) {
    let patience = UInt64(clamping: milliseconds).multipliedReportingOverflow(by: 1_000_000)
    self.patience = patience.overflow ? .max : patience.partialValue
    deadline = 0
    restart()
  }

  /// Begins a wait until a deadline, in nanoseconds of system uptime.
  init(until deadline: UInt64) { (patience, self.deadline) = (nil, deadline) }

  /// Restarts the wait; a fixed deadline stays.
  mutating func restart() {
    attempts = 0
    guard let patience else { return }
    let end = DispatchTime.now().uptimeNanoseconds.addingReportingOverflow(patience)
    deadline = end.overflow ? .max : end.partialValue
  }

  /// Sleeps before the next attempt: 0.1 ms at first, doubling up to 5 ms.
  ///
  /// - Returns: `false`, without sleeping, if the deadline has passed.
  mutating func pause() -> Bool {
    let now = DispatchTime.now().uptimeNanoseconds
    guard now < deadline else { return false }
    let step: UInt64 = min(100_000 << UInt64(min(attempts, 6)), 5_000_000)
    attempts += 1
    pauses += 1
    var pause = timespec(tv_sec: 0, tv_nsec: Int(min(step, deadline - now)))
    nanosleep(&pause, nil)
    return true
  }
}
