import CofferCore

#if SecretService && os(Linux)
  import CofferBus
  import Foundation

  /// A value that is slow to create, is created by one caller at a time and is shared by all of them.
  ///
  /// Callers that arrive during an attempt wait for its end, but not beyond their own deadline. An attempt that hangs
  /// therefore costs concurrent callers one deadline in total, not one after the other.
  final class SharedAttempt<Value: Sendable>: Sendable {
    private let turn = NSLock()
    private let value = Locked<Value?>(nil)

    /// Returns the existing value, or the one that this caller or another one creates now.
    /// - Parameters:
    ///   - timeout: the longest wait for another caller; `make` enforces its own deadline.
    ///   - isUsable: returns whether the existing value is usable for this caller.
    ///   - make: creates a new value.
    func result(
      within timeout: Duration, isUsable: (Value) -> Bool, make: () throws -> Value
    ) throws -> Value {
      if let value = value.withLock({ $0 }), isUsable(value) { return value }
      guard turn.lock(before: Date(timeIntervalSinceNow: Double(timeout.wholeMilliseconds) / 1_000)) else {
        throw BusFailure(.timedOut, "another caller is still waiting for the same reply")
      }
      defer { turn.unlock() }
      if let value = value.withLock({ $0 }), isUsable(value) { return value }
      forget()
      let made = try make()
      value.withLock { $0 = made }
      return made
    }

    /// Discards the value, so that the next caller creates a new one.
    func forget() {
      let old = value.withLock { value in
        defer { value = nil }
        return value
      }
      withExtendedLifetime(old) {}  // its deinitializer may take time, so it runs outside of the lock
    }
  }
#endif
