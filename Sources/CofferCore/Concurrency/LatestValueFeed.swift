/// Delivers the present value to any number of subscribers, then each change. A slow subscriber may skip intermediate
/// values, but always receives the latest one.
///
/// ```swift
/// let feed = LatestValueFeed(0)
/// let numbers = feed.subscribe()   // 0, 1, then the end
/// feed.update { $0 += 1 }
/// feed.finish()
/// ```
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
      return (state.present, state.waiting.takeAll())
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
      guard !state.isFinished else { return [FairQueue<Void>.Waiter]() }
      if let last { state.set(last) }
      state.isFinished = true
      return state.waiting.takeAll()
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
      guard !state.isFinished, state.present != value else { return [FairQueue<Void>.Waiter]() }
      state.set(value)
      onChange(value)
      return state.waiting.takeAll()
    }
    for waiter in waiters { waiter.resume() }
  }
}

private struct FeedState<Value: Sendable> {
  var present: Value
  /// The number of changes.
  var version: UInt64 = 0
  var subscribers = 0
  var waiting = FairQueue<Void>()
  var isFinished = false

  init(present: Value) { self.present = present }

  mutating func set(_ value: Value) {
    present = value
    if !isFinished { version += 1 }
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
      try? await state.wait(in: \.waiting) { $0.version != version || $0.isFinished ? () : nil }
    }
    return nil
  }
}
