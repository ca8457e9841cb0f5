import CofferCore
import CofferTerminal
import Foundation

/// The request to end a command that runs until SIGINT or SIGTERM, or until nobody reads the output any more. A second
/// signal ends the process at once, which is safe because commits are atomic.
///
/// Signals count from the creation on: create it before anything is printed that lets somebody send one.
final class Ending {
  private struct State {
    var isAsked = false
    var hasSignal = false
    var handler: (@Sendable () -> Void)?
  }

  private let state: Locked<State>
  private let signals: Signals

  init() {
    let state = Locked(State())
    self.state = state
    signals = Signals([SIGINT, SIGTERM]) {
      let isSecond = state.withLock { state in
        defer { state.hasSignal = true }
        return state.hasSignal
      }
      if isSecond { _exit(ExitStatus.interrupted.rawValue) }
      Self.ask(state)
    }
    whenReaderLeaves { Self.ask(state) }
  }

  private static func ask(_ state: Locked<State>) {
    let handler = state.withLock { state in
      state.isAsked = true
      return state.handler
    }
    handler?()
  }

  /// Calls a handler when the end is asked for, or at once if it has been. Replaces the handler before.
  func whenAsked(_ handler: @escaping @Sendable () -> Void) {
    let isAsked = state.withLock { state in
      state.handler = handler
      return state.isAsked
    }
    if isAsked { handler() }
  }

  /// Returns when the end is asked for.
  func wait() async {
    let (signs, sign) = AsyncStream.makeStream(of: Void.self)
    whenAsked { sign.finish() }
    for await _ in signs {}
    withExtendedLifetime(signals) {}
  }
}
