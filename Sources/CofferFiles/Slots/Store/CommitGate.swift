import CofferCore

/// A counter of the commits or reconciliations in progress, so that closing waits for them and none begins afterwards.
final class CommitGate: Sendable {
  private struct State {
    var underWay = 0
    var isClosed = false
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  private let state = Locked(State())

  /// Registers a commit. Returns `false` if the gate is closed.
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

  /// Refuses further commits and returns when those in progress have ended.
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
