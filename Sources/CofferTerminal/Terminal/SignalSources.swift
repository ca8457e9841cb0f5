import CofferCore
import Dispatch
import Foundation

/// The sources of the process's signals, one for each signal that was ever handled.
///
/// On Linux, Dispatch replaces the action of a signal when its first source is registered, not when another one
/// follows. A source that is cancelled while the next one is made would leave the signal ignored, so that Ctrl-C did
/// nothing: each source stays, and the action that Dispatch needs is set again for the next handler.
enum SignalSources {
  private struct Watched {
    /// The action before the first handler.
    var before: sig_t?
    /// The action with which Dispatch receives the signal, once it is known.
    var receiving: sig_t?
    var handlers: [(identifier: Int, handler: @Sendable () -> Void)] = []
    let source: any DispatchSourceSignal
  }

  private struct State {
    var next = 0
    var signals: [(number: Int32, watched: Watched)] = []
  }

  private static let state = Locked(State())

  /// Adds a handler to signals, and returns its identifier.
  static func add(_ numbers: [Int32], _ handler: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      let identifier = state.next
      state.next += 1
      for number in numbers {
        if let index = state.signals.firstIndex(where: { $0.number == number }) {
          if state.signals[index].watched.handlers.isEmpty { resume(&state.signals[index].watched, number) }
          state.signals[index].watched.handlers.append((identifier, handler))
        } else {
          state.signals.append((number, watch(number, (identifier, handler))))
        }
      }
      return identifier
    }
  }

  /// Removes a handler. The last one of a signal restores the action before the first.
  static func remove(_ numbers: [Int32], _ identifier: Int) {
    state.withLock { state in
      for index in state.signals.indices where numbers.contains(state.signals[index].number) {
        state.signals[index].watched.handlers.removeAll { $0.identifier == identifier }
        guard state.signals[index].watched.handlers.isEmpty else { continue }
        let current = signal(state.signals[index].number, state.signals[index].watched.before)
        if isHandler(current) { state.signals[index].watched.receiving = current }
      }
    }
  }

  private static func watch(_ number: Int32, _ handler: (Int, @Sendable () -> Void)) -> Watched {
    let before = signal(number, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    source.setEventHandler { deliver(number) }
    let isRegistered = DispatchSemaphore(value: 0)
    source.setRegistrationHandler { isRegistered.signal() }
    source.activate()
    // Dispatch sets its action on another thread. It must be known before anybody else sets another one.
    _ = isRegistered.wait(timeout: .now() + .seconds(1))
    let current = signal(number, SIG_IGN)
    signal(number, current)
    return Watched(
      before: before, receiving: isHandler(current) ? current : nil, handlers: [handler], source: source)
  }

  /// Lets Dispatch receive a signal again.
  private static func resume(_ watched: inout Watched, _ number: Int32) {
    let current = signal(number, SIG_IGN)
    if isHandler(current) { watched.receiving = current } else { watched.before = current }
    signal(number, watched.receiving ?? SIG_IGN)
  }

  private static func deliver(_ number: Int32) {
    let (handlers, before) = state.withLock { state in
      let watched = state.signals.first { $0.number == number }?.watched
      return (watched?.handlers.map(\.handler) ?? [], watched?.before)
    }
    for handler in handlers { handler() }
    // Dispatch was registered after the last handler had ended: the signal has its own action.
    guard handlers.isEmpty, !isIgnored(before) else { return }
    signal(number, before)
    kill(getpid(), number)
  }

  /// Whether an action is a function rather than the default or to ignore the signal.
  private static func isHandler(_ action: sig_t?) -> Bool { ![0, 1].contains(unsafeBitCast(action, to: Int.self)) }
  private static func isIgnored(_ action: sig_t?) -> Bool { unsafeBitCast(action, to: Int.self) == 1 }
}
