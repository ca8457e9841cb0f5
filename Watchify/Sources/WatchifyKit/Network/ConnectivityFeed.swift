import CofferCore

/// Broadcasts connectivity to any number of streams: the current value first, then each change.
final class ConnectivityFeed: Sendable {
  private struct State {
    var isConnected: Bool
    var nextNumber = 0
    var listeners: [Int: AsyncStream<Bool>.Continuation] = [:]
  }

  private let state: Locked<State>

  init(_ isConnected: Bool) { state = Locked(State(isConnected: isConnected)) }

  deinit {
    for listener in state.withLock({ $0.listeners.values.map(\.self) }) { listener.finish() }
  }

  @MainActor func send(_ isConnected: Bool) {
    let listeners = state.withLock { state in
      defer { state.isConnected = isConnected }
      return state.isConnected == isConnected ? [] : Array(state.listeners.values)
    }
    // Not under the lock, which a cancellation takes: waking a task waits for the cancellation of that task.
    for listener in listeners { listener.yield(isConnected) }
  }

  func listen() -> AsyncStream<Bool> {
    let (stream, listener) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.nextNumber += 1
      state.listeners[state.nextNumber] = listener
      listener.yield(state.isConnected)
      return state.nextNumber
    }
    listener.onTermination = { [weak self] _ in self?.leave(number) }
    return stream
  }

  /// The number of active streams.
  var count: Int { state.withLock { $0.listeners.count } }

  private func leave(_ number: Int) {
    let listener = state.withLock { $0.listeners.removeValue(forKey: number) }
    withExtendedLifetime(listener) {}  // ending the stream may call back, so not under the lock
  }
}
