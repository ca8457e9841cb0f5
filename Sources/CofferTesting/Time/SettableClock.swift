public import CofferCore
public import Foundation

/// A clock of dates that a test sets, forwards or backwards, for the expiry of values.
///
/// ```swift
/// let clock = SettableClock()
/// let store = TypedStore(engine: MemoryEngine(clock: clock.storeClock))
/// try await store.save("ticket", for: "token", expires: clock.now + 60)
/// clock.advance(by: 60)
/// let token = try await store.load(String.self, for: "token")  // nil
/// ```
public final class SettableClock: Sendable {
  private struct Sleeper {
    let id: UInt64
    let date: Date
    let continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var now: Date
    var sleepers: [Sleeper] = []
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    var lastID: UInt64 = 0
  }

  private let state: Locked<State>

  /// Creates a clock that shows a date until it is set.
  public init(_ now: Date = Date(timeIntervalSince1970: 1_000_000_000)) { state = Locked(State(now: now)) }

  /// The date that the clock shows.
  public var now: Date { state.withLock { $0.now } }

  /// The clock as engines take it.
  public var storeClock: StoreClock {
    StoreClock(now: { self.now }, sleep: { try await self.sleep(until: $0) })
  }

  /// Sets the clock, and resumes the tasks that sleep until this date or an earlier one.
  public func set(_ date: Date) {
    let due = state.withLock { state in
      state.now = date
      defer { state.sleepers.removeAll { $0.date <= date } }
      return state.sleepers.filter { $0.date <= date }
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  /// Sets the clock by a number of seconds; a negative number sets it back.
  public func advance(by seconds: TimeInterval) { set(now + seconds) }

  /// Waits until at least `count` tasks sleep on the clock.
  public func waitForSleepers(_ count: Int = 1) async {
    await withCheckedContinuation { continuation in
      let isReady = state.withLock { state in
        if state.sleepers.count < count { state.waiters.append((count, continuation)) }
        return state.sleepers.count >= count
      }
      if isReady { continuation.resume() }
    }
  }

  private func sleep(until date: Date) async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let (result, ready) = state.withLock {
          state -> (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) in
          // A cancellation before this point found no sleeper; a later one resumes it.
          if Task.isCancelled { return (.failure(CancellationError()), []) }
          if date <= state.now { return (.success(()), []) }
          state.sleepers.append(Sleeper(id: id, date: date, continuation: continuation))
          let count = state.sleepers.count
          defer { state.waiters.removeAll { $0.count <= count } }
          return (nil, state.waiters.filter { $0.count <= count }.map(\.continuation))
        }
        if let result { continuation.resume(with: result) }
        for waiter in ready { waiter.resume() }
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
