public import Foundation

/// A clock that tests can replace.
public struct ShopClock: Sendable {
  /// Returns the current date.
  public var now: @Sendable () -> Date
  /// Suspends for a duration; throws `CancellationError` if the task is cancelled.
  public var sleep: @Sendable (Duration) async throws -> Void

  /// Creates a clock.
  public init(
    now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  /// The system clock.
  public static let system = ShopClock(now: { Date() }, sleep: { try await Task.sleep(for: $0) })
}
