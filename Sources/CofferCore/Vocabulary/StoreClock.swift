import CofferLocks
import Dispatch
public import Foundation

/// The source of the dates of a store, which tests can replace.
public struct StoreClock: Sendable {
  /// Returns the current date.
  public let now: @Sendable () -> Date
  /// Suspends until the clock shows a date, or for a shorter time: the caller compares the date again.
  /// - Throws: `CancellationError` if the task is cancelled.
  public let sleep: @Sendable (_ date: Date) async throws -> Void

  /// Creates a clock that calls `now` for each date. Tests pass one that they advance by hand.
  /// - Parameters:
  ///   - now: returns the current date.
  ///   - sleep: suspends until a date; by default for the time that the system's clock needs to advance as far.
  public init(
    now: @escaping @Sendable () -> Date, sleep: (@Sendable (_ date: Date) async throws -> Void)? = nil
  ) {
    self.now = now
    self.sleep = sleep ?? { try await sleepOnWallClock(for: $0.timeIntervalSince(now())) }
  }

  /// The system's clock.
  public static let system = StoreClock { Date() }
}

/// Suspends until the system's clock has advanced, also when it is set meanwhile; for an hour at most, so that
/// cancelled timers do not accumulate.
private func sleepOnWallClock(for seconds: TimeInterval) async throws {
  try Task.checkCancellation()
  guard seconds > 0 else { return }
  let waiter = Locked<CheckedContinuation<Void, any Error>?>(nil)
  let take: @Sendable () -> CheckedContinuation<Void, any Error>? = {
    waiter.withLock { waiter in
      defer { waiter = nil }
      return waiter
    }
  }
  try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      let isCancelled = waiter.withLock { waiter in
        // A cancellation before this point has already set the flag; a later one takes the continuation.
        if Task.isCancelled { return true }
        waiter = continuation
        return false
      }
      if isCancelled { return continuation.resume(throwing: CancellationError()) }
      DispatchQueue.global().asyncAfter(wallDeadline: .now() + min(seconds, 3_600)) { take()?.resume() }
    }
  } onCancel: {
    take()?.resume(throwing: CancellationError())
  }
}
