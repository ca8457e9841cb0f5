import CofferCore

/// A clock that advances only when a test advances it.
///
/// ```swift
/// let clock = ManualClock()
/// let task = Task { try await clock.sleep(for: .seconds(60)) }
/// await clock.waitForSleepers()       // the task is asleep now
/// clock.advance(by: .seconds(60))     // and now it is not
/// try await task.value
/// ```
///
/// Sleeping tasks are resumed in the order of their deadlines, and those with equal deadlines in the order in which
/// they began to sleep. A task that sleeps repeatedly is resumed once per ``advance(by:)``: advance the clock in steps.
public final class ManualClock: Clock, Sendable {
  /// An instant of the clock.
  public struct Instant: InstantProtocol {
    /// The time since the clock was created.
    public let offset: Duration

    /// Creates an instant that is `offset` after the creation of the clock.
    public init(offset: Duration = .zero) { self.offset = offset }

    /// Returns the instant that is `duration` later.
    public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    /// Returns the time from this instant to another; negative if the other one is earlier.
    public func duration(to other: Instant) -> Duration { other.offset - offset }
    public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper {
    let id: UInt64
    let deadline: Instant
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct Waiter {
    let id: UInt64
    let count: Int
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct State {
    var now = Instant()
    var sleepers: [Sleeper] = []  // in the order in which they will be resumed
    var waiters: [Waiter] = []
    var nextID: UInt64 = 0

    mutating func makeID() -> UInt64 {
      nextID += 1
      return nextID
    }

    mutating func takeWaiters() -> [Waiter] {
      let count = sleepers.count
      defer { waiters.removeAll { $0.count <= count } }
      return waiters.filter { $0.count <= count }
    }
  }

  private let state = Locked(State())

  /// Creates a clock whose current instant has the offset zero.
  public init() {}

  /// The current instant, which only ``advance(by:)`` changes.
  public var now: Instant { state.withLock { $0.now } }
  /// The smallest step of the clock; zero, since it can advance by any duration.
  public var minimumResolution: Duration { .zero }
  /// The number of tasks that are sleeping on this clock.
  public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

  /// Advances the clock and resumes every task whose deadline has been reached.
  public func advance(by duration: Duration) {
    precondition(duration >= .zero, "A clock cannot go back.")
    let due = state.withLock { state -> [Sleeper] in
      state.now = state.now.advanced(by: duration)
      let now = state.now
      let count = state.sleepers.prefix { $0.deadline <= now }.count
      defer { state.sleepers.removeFirst(count) }
      return Array(state.sleepers.prefix(count))
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Waits until at least `count` tasks are sleeping on this clock, or the current task is cancelled.
  public func waitForSleepers(_ count: Int = 1) async {
    let id = state.withLock { $0.makeID() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          // A cancellation before this point has already set the flag; a later one resumes the registered waiter.
          if state.sleepers.count >= count || Task.isCancelled { return true }
          state.waiters.append(Waiter(id: id, count: count, continuation: continuation))
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      let waiter = state.withLock { state -> Waiter? in
        guard let index = state.waiters.firstIndex(where: { $0.id == id }) else { return nil }
        return state.waiters.remove(at: index)
      }
      waiter?.continuation.resume()
    }
  }

  /// Sleeps until the clock has been advanced to the deadline. The tolerance is ignored.
  /// - Throws: `CancellationError` if the task is cancelled.
  public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    let id = state.withLock { $0.makeID() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let sleeper = Sleeper(id: id, deadline: deadline, continuation: continuation)
        let (result, waiters) = state.withLock { state -> (Result<Void, any Error>?, [Waiter]) in
          if Task.isCancelled { return (.failure(CancellationError()), []) }
          if deadline <= state.now { return (.success(()), []) }
          let index = state.sleepers.firstIndex { $0.deadline > deadline } ?? state.sleepers.endIndex
          state.sleepers.insert(sleeper, at: index)
          return (nil, state.takeWaiters())
        }
        if let result { continuation.resume(with: result) }
        for waiter in waiters { waiter.continuation.resume() }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else { return nil }
        return state.sleepers.remove(at: index)
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }
}
