import CofferCore

/// Counts what is under way, and reports when nothing is.
final class WorkCount: Sendable {
  private struct State {
    var count = 0
    var waiting: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())

  func begin() { state.withLock { $0.count += 1 } }

  func end() {
    let waiting = state.withLock { state -> [@Sendable () -> Void] in
      state.count -= 1
      guard state.count == 0 else { return [] }
      defer { state.waiting = [] }
      return state.waiting
    }
    for report in waiting { report() }
  }

  /// Calls `report` once nothing is under way: at once, or on the thread that ends the last.
  func whenIdle(_ report: @escaping @Sendable () -> Void) {
    let isIdle = state.withLock { state in
      if state.count > 0 { state.waiting.append(report) }
      return state.count == 0
    }
    if isIdle { report() }
  }
}
