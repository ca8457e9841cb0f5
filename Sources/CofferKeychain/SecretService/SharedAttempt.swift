import CofferLocks

#if SecretService && os(Linux)
  import CofferBus
  import Foundation

  /// Something that takes a while to make, is made by one caller at a time, and serves all of them.
  ///
  /// Callers that come during an attempt wait for its result, be it an error, and no longer than their own deadline:
  /// what hangs costs all callers together one deadline, and not one after the other.
  final class SharedAttempt<Value: Sendable>: Sendable {
    /// One caller's attempt: the group is empty once there is a result.
    private struct Attempt: Sendable {
      let end = DispatchGroup()
      let result = Locked<Result<Value, any Error>?>(nil)
    }

    private struct State {
      var value: Value?
      var attempt: Attempt?
    }

    private enum Turn {
      case present(Value)
      case own(Attempt)
      case others(Attempt)
    }

    private let state = Locked(State())

    /// What is there already, or what this caller or another one makes now.
    /// - Parameters:
    ///   - timeout: for the wait for another caller; `make` keeps to a deadline of its own.
    ///   - isUsable: whether what is there will do for this caller.
    ///   - make: makes a new one.
    func result(
      within timeout: Duration, isUsable: (Value) -> Bool, make: () throws -> Value
    ) throws -> Value {
      let deadline = DispatchTime.now() + .milliseconds(Int(timeout.wholeMilliseconds))
      while true {
        switch turn(isUsable) {
        case .present(let value): return value
        case .own(let attempt): return try carryOut(attempt, make)
        case .others(let attempt):
          guard attempt.end.wait(timeout: deadline) == .success, let result = attempt.result.withLock({ $0 }) else {
            throw BusFailure(.timedOut, "another caller still waits for the same answer")
          }
          let value = try result.get()
          if isUsable(value) { return value }
        }
      }
    }

    /// The next caller makes a new one.
    func forget() {
      let old = state.withLock { state in
        defer { state.value = nil }
        return state.value
      }
      withExtendedLifetime(old) {}  // its end may take a moment: not under the lock
    }

    private func turn(_ isUsable: (Value) -> Bool) -> Turn {
      state.withLock { state in
        if let value = state.value, isUsable(value) { return .present(value) }
        if let attempt = state.attempt { return .others(attempt) }
        let attempt = Attempt()
        attempt.end.enter()
        state.attempt = attempt
        return .own(attempt)
      }
    }

    private func carryOut(_ attempt: Attempt, _ make: () throws -> Value) throws -> Value {
      forget()
      let result = Result { try make() }
      state.withLock { state in
        state.value = try? result.get()
        state.attempt = nil
      }
      attempt.result.withLock { $0 = result }
      attempt.end.leave()
      return try result.get()
    }
  }
#endif
