import CofferCore
import CofferLocks

/// Counts the commits that are under way, so that closing waits for them and none begins afterwards.
final class UsageGate: Sendable {
  private struct State {
    var underWay = 0
    var isClosed = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())

  /// Lets one more in; whether it may come in.
  func enter() -> Bool {
    state.withLock { state in
      if state.isClosed { return false }
      state.underWay += 1
      return true
    }
  }

  func leave() {
    let waiters = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      state.underWay -= 1
      guard state.isClosed, state.underWay == 0 else { return [] }
      defer { state.waiters = [] }
      return state.waiters
    }
    for waiter in waiters { waiter.resume() }
  }

  /// Lets nobody in any more, and returns when all have left.
  func close() async {
    await withCheckedContinuation { continuation in
      let isEmpty = state.withLock { state in
        state.isClosed = true
        if state.underWay > 0 { state.waiters.append(continuation) }
        return state.underWay == 0
      }
      if isEmpty { continuation.resume() }
    }
  }
}
