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
  private struct State {
    var present: Value
    var subscribers: [UInt64: AsyncStream<Value>.Continuation] = [:]
    var lastID: UInt64 = 0
    var isFinished = false
  }

  private let state: Locked<State>

  /// Creates a feed whose present value is `value`.
  package init(_ value: Value) { state = Locked(State(present: value)) }

  deinit { finish() }

  /// The present value.
  package var value: Value { state.withLock { $0.present } }

  /// Changes the value, and returns the changed one. Subscribers receive it under the lock, so that all of them see one
  /// order; after `finish()` they receive nothing.
  @discardableResult
  package func update(_ change: (inout Value) -> Void) -> Value {
    state.withLock { state in
      change(&state.present)
      for subscriber in state.subscribers.values { subscriber.yield(state.present) }
      return state.present
    }
  }

  /// Whether there are subscribers whose streams have not ended.
  package var hasSubscribers: Bool { state.withLock { !$0.subscribers.isEmpty } }

  /// Returns a stream of the present value and the latest one after each change. It ends when the feed is finished or
  /// released. The stream of a finished feed has its last value only.
  package func subscribe() -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let id: UInt64? = state.withLock { state in
      continuation.yield(state.present)
      guard !state.isFinished else { return nil }
      state.lastID += 1
      state.subscribers[state.lastID] = continuation
      return state.lastID
    }
    guard let id else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.subscribers.removeValue(forKey: id) }
    }
    return stream
  }

  /// Ends all streams. The last value can still be read.
  package func finish() {
    let subscribers = state.withLock { state in
      state.isFinished = true
      defer { state.subscribers = [:] }
      return Array(state.subscribers.values)
    }
    // Ending a stream calls its termination handler, which takes the lock.
    for subscriber in subscribers { subscriber.finish() }
  }
}

extension LatestValueFeed where Value: Equatable {
  /// Replaces the value and delivers it, unless it is the present one.
  /// - Parameter onChange: called under the lock, before the delivery. A finished feed keeps its last value.
  package func set(_ value: Value, onChange: () -> Void) {
    state.withLock { state in
      guard !state.isFinished, state.present != value else { return }
      state.present = value
      onChange()
      for subscriber in state.subscribers.values { subscriber.yield(value) }
    }
  }
}
