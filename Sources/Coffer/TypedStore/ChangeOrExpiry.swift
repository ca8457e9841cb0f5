import CofferCore
import Foundation

/// Waits for the next change of a key, or for the expiry of its present value if that comes first.
///
/// Cancelling a pending request for the next element would end the stream of changes, so a request outlives the expiry
/// and serves the next call.
final class ChangeOrExpiry: Sendable {
  enum Event {
    case change(KeyChange)
    case expiry
    /// The stream has ended, or the task was cancelled.
    case end
  }

  private struct State {
    var request: Task<Void, Never>?
    /// The result of a request that nobody has taken; the stream has ended if it is `.end`.
    var result: Event?
    var waiter: CheckedContinuation<Event, Never>?
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
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let (event, earlier) = take(or: continuation)
        if let event { continuation.resume(returning: event) }
        earlier?.resume(returning: .expiry)
      }
    } onCancel: {
      finish()
    }
  }

  private func beginWait() -> UInt64 {
    state.withLock { state in
      state.wait += 1
      state.isExpired = false
      if state.request == nil, state.result == nil {
        state.request = Task { [weak self, next] in
          let change = await next()
          self?.arrive(change.map { .change($0) } ?? .end)
        }
      }
      return state.wait
    }
  }

  /// Returns an event that has happened, or registers the waiter for it in place of an earlier one.
  private func take(
    or waiter: CheckedContinuation<Event, Never>
  ) -> (event: Event?, earlier: CheckedContinuation<Event, Never>?) {
    state.withLock { state in
      // A cancellation before this point found no waiter; a later one resumes it.
      if Task.isCancelled { return (.end, nil) }
      if let result = state.result {
        state.result = nil
        return (result, nil)
      }
      if state.isExpired { return (.expiry, nil) }
      defer { state.waiter = waiter }
      return (nil, state.waiter)
    }
  }

  private func arrive(_ event: Event) {
    let waiter = state.withLock { state -> CheckedContinuation<Event, Never>? in
      state.request = nil
      guard let waiter = state.waiter else {
        state.result = event
        return nil
      }
      state.waiter = nil
      return waiter
    }
    waiter?.resume(returning: event)
  }

  private func expire(_ wait: UInt64) {
    let waiter = state.withLock { state -> CheckedContinuation<Event, Never>? in
      guard state.wait == wait else { return nil }
      state.isExpired = true
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume(returning: .expiry)
  }

  private func finish() {
    let (waiter, request) = state.withLock { state in
      defer { state.waiter = nil }
      return (state.waiter, state.request)
    }
    request?.cancel()
    waiter?.resume(returning: .end)
  }
}
