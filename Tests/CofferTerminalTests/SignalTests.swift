import CofferCore
import CofferTerminal
import CofferTesting
import Foundation
import Testing

@Suite("Signals", .serialized)
struct SignalTests {
  /// The action of the process on the signal: 0 is the default, 1 is to ignore it, other values are a Dispatch handler.
  private var action: Int {
    let before = signal(SIGUSR2, SIG_IGN)
    signal(SIGUSR2, before)
    return unsafeBitCast(before, to: Int.self)
  }

  @Test("The end of a nested handler restores that of the outer one")
  func nested() {
    #expect(action == 0)
    var outer: Signals? = Signals([SIGUSR2]) {}
    #expect(action != 0)
    var inner: Signals? = Signals([SIGUSR2]) {}
    #expect(action != 0 && inner != nil)
    inner = nil
    #expect(action != 0 && outer != nil)
    outer = nil
    #expect(action == 0)
  }

  @Test("A signal that was ignored before is ignored afterwards")
  func ignored() {
    signal(SIGUSR2, SIG_IGN)
    var signals: Signals? = Signals([SIGUSR2]) {}
    #expect(signals != nil)
    signals = nil
    #expect(action == 1)
    signal(SIGUSR2, SIG_DFL)
  }

  @Test("A handler that directly follows another one is called")
  func inTurn() async throws {
    // Signals that are still on their way after a handler must not meet the default action, which ends the process.
    signal(SIGUSR2, SIG_IGN)
    for _ in 0..<20 {
      let isCalled = Locked(false)
      let signals = Signals([SIGUSR2]) { isCalled.withLock { $0 = true } }
      // Dispatch registers a source in its own time; a signal before that is ignored.
      try await eventually("the handler is called") {
        kill(getpid(), SIGUSR2)
        return isCalled.withLock { $0 }
      }
      withExtendedLifetime(signals) {}
    }
  }
}
