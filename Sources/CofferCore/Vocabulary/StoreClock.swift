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

/// Suspends until the system's clock has advanced, but for five seconds at most: the clock may be set meanwhile, and
/// the timer of a cancelled wait stays in memory until its time has come.
private func sleepOnWallClock(for seconds: TimeInterval) async throws {
  try await Task.sleep(for: .seconds(max(0, min(seconds, 5))))
}
