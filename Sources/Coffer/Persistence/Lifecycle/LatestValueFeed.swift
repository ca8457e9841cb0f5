import CofferLocks

/// Delivers the current value to any number of subscribers, then each change. A slow one may skip intermediate values.
final class LatestValueFeed<Value: Sendable>: Sendable {
  private struct State {
    var present: Value
    var subscribers: [UInt64: AsyncStream<Value>.Continuation] = [:]
    var nextID: UInt64 = 0
  }

  private let state: Locked<State>

  init(_ value: Value) { state = Locked(State(present: value)) }

  deinit { state.withLock { for subscriber in $0.subscribers.values { subscriber.finish() } } }

  var value: Value { state.withLock { $0.present } }

  /// Changes the value. Subscribers receive it under the lock, so that all of them see one order.
  func update(_ change: (inout Value) -> Void) {
    state.withLock { state in
      change(&state.present)
      for subscriber in state.subscribers.values { subscriber.yield(state.present) }
    }
  }

  func subscribe() -> AsyncStream<Value> {
    let (stream, continuation) = AsyncStream.makeStream(of: Value.self, bufferingPolicy: .bufferingNewest(1))
    let id = state.withLock { state in
      continuation.yield(state.present)
      state.nextID += 1
      state.subscribers[state.nextID] = continuation
      return state.nextID
    }
    continuation.onTermination = { [weak self] _ in
      _ = self?.state.withLock { $0.subscribers.removeValue(forKey: id) }
    }
    return stream
  }
}
