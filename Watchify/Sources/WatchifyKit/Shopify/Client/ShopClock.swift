public import Foundation

/// The time as the client sees it; tests bring their own.
public struct ShopClock: Sendable {
  /// The time of the day.
  public var now: @Sendable () -> Date
  /// Returns when the time has passed; throws `CancellationError` when the task is cancelled.
  public var sleep: @Sendable (Duration) async throws -> Void

  /// A clock.
  public init(
    now: @escaping @Sendable () -> Date, sleep: @escaping @Sendable (Duration) async throws -> Void
  ) {
    self.now = now
    self.sleep = sleep
  }

  /// The system's.
  public static let system = ShopClock(now: { Date() }, sleep: { try await Task.sleep(for: $0) })
}
