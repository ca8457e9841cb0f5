package import Foundation

/// The times at which an engine removes its expired values: after a commit, at most once a minute, and never for a
/// reader.
package final class SweepSchedule: Sendable {
  private struct State {
    /// Whether the store has ever had a value that expires, as far as this process knows.
    var isNeeded: Bool
    var next = Date.distantPast
  }

  /// The number of seconds between two sweeps.
  private static let interval: TimeInterval = 60
  /// The number of seconds for which an expired value is kept: a clock that was set ahead by less destroys nothing.
  private static let margin: TimeInterval = 3_600
  /// The maximum number of values that one sweep removes.
  package static let limit = 256

  private let state: Locked<State>

  /// - Parameter isNeeded: whether the store has had a value that expires.
  package init(isNeeded: Bool) { state = Locked(State(isNeeded: isNeeded)) }

  /// Returns the date up to which expired values are to be removed now; `nil` if no sweep is due.
  /// - Parameters:
  ///   - date: the date of a commit.
  ///   - batch: the batch of the commit.
  package func takeDue(at date: Date, after batch: WriteBatch) -> Date? {
    state.withLock { state in
      if batch.traits.contains(.expiries) { state.isNeeded = true }
      // A clock that was set back does not put off the next sweep.
      let isDue = date >= state.next || date < state.next - 2 * Self.interval
      guard state.isNeeded, isDue else { return nil }
      state.next = date + Self.interval
      return date - Self.margin
    }
  }

  /// Makes a sweep due after the next commit, since the last one has removed as many values as it may.
  package func noteMore() { state.withLock { $0.next = .distantPast } }
}
