import CofferCore

/// The time that all calls of one operation have together, in addition to the timeout of each call.
package final class CallBudget: Sendable {
  /// The budget of the operation that this thread or task carries out; `nil` for none.
  @TaskLocal private static var current: CallBudget?

  private let end: Locked<ContinuousClock.Instant>

  private init(_ duration: Duration) { end = Locked(.now + duration) }

  /// Runs an operation within a budget. An operation inside another one shares its budget.
  package static func with<R>(_ duration: Duration, _ body: () throws -> R) rethrows -> R {
    guard current == nil else { return try body() }
    return try $current.withValue(CallBudget(duration), operation: body)
  }

  /// Returns the time that a call has: its timeout, or what is left of the budget.
  /// - Throws: ``BusFailure`` of kind `timedOut` if nothing is left.
  package static func rest(of timeout: Duration) throws(BusFailure) -> Duration {
    guard let current else { return timeout }
    let rest = current.end.withLock { $0 } - .now
    guard rest > .zero else { throw BusFailure(.timedOut, "the time for all replies has passed") }
    return min(timeout, rest)
  }

  /// Gives the operation more time, such as that in which a user has answered.
  package static func extend(by duration: Duration) {
    current?.end.withLock { $0 = max($0, .now) + duration }
  }
}
