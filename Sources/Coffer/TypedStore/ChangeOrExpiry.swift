import CofferCore
import Foundation

/// Waits for the next change of a key, or for the expiry of its present value if that comes first.
///
/// Cancelling a pending request for the next element would end the stream of changes, so a request outlives the expiry
/// and serves the next call.
final class ChangeOrExpiry: Sendable {
  enum Event: Sendable {
    case change(KeyChange)
    case expiry
    /// The stream has ended, or the task was cancelled.
    case end
  }

  private struct State {
    var request: Task<Void, Never>?
    /// The result of a request that nobody has taken; the stream has ended if it is `.end`.
    var result: Event?
    var waiting = FairQueue<Event>()
    /// The number of the wait, by which a timer of an earlier one is recognized.
    var wait: UInt64 = 0
    var isExpired = false
  }

  private let clock: StoreClock
  private let next: @Sendable () async -> KeyChange?
  private let state = Locked(State())

  /// - Parameters:
  ///   - clock: the clock by which values expire.
  ///   - next: returns the next change, or `nil` at the end of the stream.
  init(_ clock: StoreClock, next: @escaping @Sendable () async -> KeyChange?) {
    self.clock = clock
    self.next = next
  }

  deinit { state.withLock { $0.request }?.cancel() }

  /// Returns the next event. Of two overlapping calls, the first returns early, as if its value had expired.
  /// - Parameter expires: the date of the expiry; `nil` for a value that does not expire.
  func event(before expires: Date?) async -> Event {
    let isRequesting = state.withLock { $0.request != nil || $0.result != nil }
    guard isRequesting || expires != nil else { return await next().map { .change($0) } ?? .end }
    let wait = beginWait()
    let timer = expires.map { expires in
      Task { [weak self, clock] in
        while !ValueAttributes(expires: expires).isExpired(at: clock.now()) {
          do { try await clock.sleep(expires) } catch { return }
        }
        self?.expire(wait)
      }
    }
    defer { timer?.cancel() }
    do {
      return try await state.wait(in: \.waiting) { state in
        guard state.wait == wait, !state.isExpired else { return .expiry }
        return state.result.take()
      }
    } catch {
      state.withLock { $0.request }?.cancel()
      return .end
    }
  }

  private func beginWait() -> UInt64 {
    let (wait, earlier) = state.withLock { state in
      state.wait += 1
      state.isExpired = false
      if state.request == nil, state.result == nil {
        state.request = Task { [weak self, next] in
          let change = await next()
          self?.arrive(change.map { .change($0) } ?? .end)
        }
      }
      return (state.wait, state.waiting.takeAll())
    }
    for waiter in earlier { waiter.resume(returning: .expiry) }
    return wait
  }

  private func arrive(_ event: Event) {
    let waiter = state.withLock { state in
      state.request = nil
      let waiter = state.waiting.takeFirst()
      if waiter == nil { state.result = event }
      return waiter
    }
    waiter?.resume(returning: event)
  }

  private func expire(_ wait: UInt64) {
    let waiting = state.withLock { state in
      guard state.wait == wait else { return [FairQueue<Event>.Waiter]() }
      state.isExpired = true
      return state.waiting.takeAll()
    }
    for waiter in waiting { waiter.resume(returning: .expiry) }
  }
}
