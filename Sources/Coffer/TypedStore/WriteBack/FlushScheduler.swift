import CofferLocks

/// The timer that ends the windows of all stores with write-back: one sleeping task, whatever the number of stores, and
/// none while nothing is pending.
public final class FlushScheduler: Sendable {
  private struct Entry {
    let due: Duration
    /// Retained until its window ends, so that the pending writes of a store that is no longer used are committed.
    let buffer: WriteBuffer
    let isRetry: Bool
  }

  private struct State {
    /// The windows in the order of their ends.
    var entries: [Entry] = []
    var timer: Task<Void, Never>?
    /// The end of the window for which the timer sleeps.
    var sleepsUntil: Duration?
    /// The number of the timer, by which one that was replaced is recognized.
    var number: UInt64 = 0
  }

  /// The timer that stores use by default, on the continuous clock.
  public static let shared = FlushScheduler(clock: ContinuousClock())

  private let now: @Sendable () -> Duration
  private let sleep: @Sendable (_ until: Duration) async throws -> Void
  private let state = Locked(State())

  /// Creates a timer. Tests pass a clock that they advance by hand.
  public init<C: Clock>(clock: C) where C.Duration == Duration {
    let start = clock.now
    now = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
  }

  deinit { state.withLock { $0.timer }?.cancel() }

  func schedule(_ buffer: WriteBuffer, after window: Duration, isRetry: Bool = false) {
    let due = now() + window
    let replaced = state.withLock { state -> Task<Void, Never>? in
      let index = state.entries.lastIndex { $0.due <= due }.map { $0 + 1 } ?? 0
      state.entries.insert(Entry(due: due, buffer: buffer, isRetry: isRetry), at: index)
      guard state.sleepsUntil.map({ due < $0 }) ?? true else { return nil }
      state.number += 1
      state.sleepsUntil = due
      let number = state.number
      defer { state.timer = Task.detached { [weak self] in await self?.run(number) } }
      return state.timer
    }
    replaced?.cancel()
  }

  private func run(_ number: UInt64) async {
    while let due = state.withLock({ $0.number == number ? $0.sleepsUntil : nil }) {
      do { try await sleep(due) } catch { return }
      let ended = state.withLock { state -> [Entry] in
        guard state.number == number else { return [] }
        let now = now()
        let count = state.entries.firstIndex { $0.due > now } ?? state.entries.count
        let ended = Array(state.entries.prefix(count))
        state.entries.removeFirst(count)
        state.sleepsUntil = state.entries.first?.due
        if state.entries.isEmpty { state.timer = nil }
        return ended
      }
      for entry in ended { entry.buffer.windowEnded(isRetry: entry.isRetry) }
    }
  }
}
