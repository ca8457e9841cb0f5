import CofferTerminal
import Foundation
import Testing

@Suite("Signals", .serialized)
struct SignalTests {
  /// What the process does on the signal: 0 is the system's action, 1 is nothing, all else a function of Dispatch's.
  private var action: Int {
    let before = signal(SIGUSR2, SIG_IGN)
    signal(SIGUSR2, before)
    return unsafeBitCast(before, to: Int.self)
  }

  @Test("A question within a task that signals cancel leaves that task its signals")
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

  @Test("What was ignored before stays ignored afterwards")
  func ignored() {
    signal(SIGUSR2, SIG_IGN)
    var signals: Signals? = Signals([SIGUSR2]) {}
    #expect(signals != nil)
    signals = nil
    #expect(action == 1)
    signal(SIGUSR2, SIG_DFL)
  }
}
