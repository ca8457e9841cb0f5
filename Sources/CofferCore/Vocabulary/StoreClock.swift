public import Foundation

/// Where a store takes the date from, so that tests can set it.
public struct StoreClock: Sendable {
  /// The present date.
  public let now: @Sendable () -> Date

  /// A clock that asks `now` each time: tests give one that they turn by hand.
  public init(now: @escaping @Sendable () -> Date) { self.now = now }

  /// The system's clock.
  public static let system = StoreClock { Date() }
}
