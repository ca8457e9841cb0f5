public import Foundation

/// Where a store takes the date from, so that tests can set it.
public struct WallClock: Sendable {
  /// The present date.
  public let now: @Sendable () -> Date

  public init(now: @escaping @Sendable () -> Date) { self.now = now }

  /// The system's clock.
  public static let system = WallClock { Date() }
}
