import CofferCore
import Foundation

/// A call whose caller may time out before the reply arrives.
final class PatientCall: Sendable {
  private struct State {
    var result: Result<BusValue, BusFailure>?
    var isLate = false
  }

  private let state = Locked(State())
  private let done = DispatchSemaphore(value: 0)
  private let late: @Sendable (BusValue?) -> Void

  init(late: @escaping @Sendable (BusValue?) -> Void) { self.late = late }

  /// Runs the call on a new thread, which it may block.
  func begin(_ body: @escaping @Sendable () throws(BusFailure) -> BusValue) {
    let thread = Thread { self.end(Result { () throws(BusFailure) in try body() }) }
    thread.name = "coffer.bus.call"
    thread.start()
  }

  private func end(_ result: Result<BusValue, BusFailure>) {
    let isLate = state.withLock { state in
      state.result = result
      return state.isLate
    }
    if isLate { late(try? result.get()) } else { done.signal() }
  }

  /// Returns the result that arrives within the deadline. A later one is passed to `late`.
  func answer(within deadline: Duration, of method: BusMethod) throws(BusFailure) -> BusValue {
    _ = done.wait(timeout: .now() + .milliseconds(Int(deadline.wholeMilliseconds)))
    let result = state.withLock { state -> Result<BusValue, BusFailure> in
      if let result = state.result { return result }
      state.isLate = true
      return .failure(
        BusFailure(.timedOut, "no reply arrived in time").ofCall(changingSomething: method.changesSomething))
    }
    return try result.get()
  }
}
