/// Delivers the present value to any number of subscribers, then each change. A slow subscriber may skip intermediate
/// values, but always receives the latest one.
///
/// ```swift
/// let feed = LatestValueFeed(0)
/// let numbers = feed.subscribe()   // 0, 1, then the end
/// feed.update { $0 += 1 }
/// feed.finish()
/// ```
///
/// Subscribers are woken after the lock is released: waking a task takes the lock of its state, which is held while the
/// handlers of its cancellation run, and these take the lock of the feed.
package final class LatestValueFeed<Value: Sendable>: Sendable {
  private let state: Locked<FeedState<Value>>

  /// Creates a feed whose present value is `value`.
  package init(_ value: Value) { state = Locked(FeedState(present: value)) }

  deinit { finish() }

  /// The present value.
  package var value: Value { state.withLock { $0.present } }

  /// Changes the value, and returns the changed one. All subscribers see the changes in one order; after `finish()`
  /// they receive nothing.
  @discardableResult
  package func update(_ change: (inout Value) -> Void) -> Value {
    let (present, waiters) = state.withLock { state in
      var present = state.present
      change(&present)
      state.set(present)
      return (state.present, state.takeWaiters())
    }
    for waiter in waiters { waiter.resume() }
    return present
  }

  /// Whether there are subscribers whose streams have not ended.
  package var hasSubscribers: Bool { state.withLock { !$0.isFinished && $0.subscribers > 0 } }

  /// Returns a stream of the present value and the latest one after each change. It ends when the feed is finished or
  /// released. The stream of a finished feed has its last value only.
  package func subscribe() -> AsyncStream<Value> {
    let subscriber = FeedSubscriber(state)
    return AsyncStream { await subscriber.next() }
  }

  /// Ends all streams, after a last value if there is one. The last value can still be read.
  package func finish(with last: Value? = nil) {
    let waiters = state.withLock { state in
      guard !state.isFinished else { return [CheckedContinuation<Void, Never>]() }
      if let last { state.set(last) }
      state.isFinished = true
      return state.takeWaiters()
    }
    for waiter in waiters { waiter.resume() }
  }
}

extension LatestValueFeed where Value: Equatable {
  /// Replaces the value and delivers it, unless it is the present one. A finished feed keeps its last value.
  /// - Parameters:
  ///   - value: called under the lock, so that of two callers the later one decides.
  ///   - onChange: called under the lock, before the delivery.
  package func set(_ value: () -> Value, onChange: (Value) -> Void = { _ in }) {
    let waiters = state.withLock { state in
      let value = value()
      guard !state.isFinished, state.present != value else { return [CheckedContinuation<Void, Never>]() }
      state.set(value)
      onChange(value)
      return state.takeWaiters()
    }
    for waiter in waiters { waiter.resume() }
  }
}

private struct FeedState<Value: Sendable> {
  var present: Value
  /// The number of changes.
  var version: UInt64 = 0
  var subscribers = 0
  var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
  var lastWaiter: UInt64 = 0
  var isFinished = false

  init(present: Value) { self.present = present }

  mutating func set(_ value: Value) {
    present = value
    if !isFinished { version += 1 }
  }

  mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
    guard !waiters.isEmpty else { return [] }
    defer { waiters.removeAll() }
    return Array(waiters.values)
  }
}

/// One subscriber of a feed. It does not keep the feed alive.
private final class FeedSubscriber<Value: Sendable>: Sendable {
  private let state: Locked<FeedState<Value>>
  /// The version that was delivered last; `nil` before the first one.
  private let seen = Locked<UInt64?>(nil)

  init(_ state: Locked<FeedState<Value>>) {
    self.state = state
    state.withLock { $0.subscribers += 1 }
  }

  deinit { state.withLock { $0.subscribers -= 1 } }

  func next() async -> Value? {
    while !Task.isCancelled {
      let seen = seen.withLock { $0 }
      let (value, version, isFinished) = state.withLock { ($0.present, $0.version, $0.isFinished) }
      guard version == seen else {
        self.seen.withLock { $0 = version }
        return value
      }
      if isFinished { return nil }
      await wait(beyond: version)
    }
    return nil
  }

  /// Waits until there is a version after this one, the feed has ended, or the task is cancelled.
  private func wait(beyond version: UInt64) async {
    let id = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          // A cancellation before this point has already set the flag; a later one resumes the registered waiter.
          if state.version != version || state.isFinished || Task.isCancelled { return true }
          state.waiters[id] = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
    }
  }
}
