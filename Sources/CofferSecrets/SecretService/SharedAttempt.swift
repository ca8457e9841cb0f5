import CofferCore

#if SecretService && os(Linux)
  import CofferBus
  import Foundation

  /// A value that is slow to create, is created by one caller at a time and is shared by all of them.
  ///
  /// Callers that arrive during an attempt wait for its result or error, but not beyond their own deadline. An attempt
  /// that hangs therefore costs concurrent callers one deadline in total, not one after the other.
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

    /// Returns the existing value, or the one that this caller or another one creates now.
    /// - Parameters:
    ///   - timeout: the longest wait for another caller; `make` enforces its own deadline.
    ///   - isUsable: returns whether the existing value is usable for this caller.
    ///   - make: creates a new value.
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
            throw BusFailure(.timedOut, "another caller is still waiting for the same reply")
          }
          let value = try result.get()
          if isUsable(value) { return value }
        }
      }
    }

    /// Discards the value, so that the next caller creates a new one.
    func forget() {
      let old = state.withLock { state in
        defer { state.value = nil }
        return state.value
      }
      withExtendedLifetime(old) {}  // its deinitializer may take time, so it runs outside of the lock
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
