public import Foundation

/// The source of the dates of a store, which tests can replace.
public struct StoreClock: Sendable {
  /// Returns the current date.
  public let now: @Sendable () -> Date

  /// Creates a clock that calls `now` for each date. Tests pass one that they advance by hand.
  public init(now: @escaping @Sendable () -> Date) { self.now = now }

  /// The system's clock.
  public static let system = StoreClock { Date() }
}
