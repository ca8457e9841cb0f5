import CofferCore

/// The calls of one capability, each of which is abandoned at its deadline and begins when the one before has returned.
///
/// An abandoned call goes on. Because later calls wait for it, an activation that ends late is deactivated before the
/// next activation begins, and never in the middle of one or after it.
final class CapabilityCalls: Sendable {
  private let name: CapabilityID
  private let capability: any Capability
  private let deadline: Duration
  private let clock: any Clock<Duration>
  /// The call that began last.
  private let last = Locked<Task<Void, Never>?>(nil)

  init(_ name: CapabilityID, _ capability: any Capability, deadline: Duration, clock: any Clock<Duration>) {
    (self.name, self.capability, self.deadline, self.clock) = (name, capability, deadline, clock)
  }

  /// Activates the capability. One that is activated after the deadline is deactivated again.
  /// - Throws: The error of the activation, or `StorageError` with code `unavailable` after the deadline.
  func activate() async throws {
    try await run("was not activated") { [capability] call in
      // Abandoned before its turn.
      guard !call.hasEnded else { return }
      try await capability.activate()
      if !call.end(.success(())) { try await capability.deactivate() }
    }
  }

  /// Returns whether the capability can be used.
  /// - Throws: `StorageError` with code `unavailable` after the deadline.
  func isAvailable() async throws -> Bool {
    let isAvailable = Locked(false)
    try await run("did not state whether it is available") { [capability] call in
      guard !call.hasEnded else { return }
      let answer = await capability.isAvailable
      isAvailable.withLock { $0 = answer }
    }
    return isAvailable.withLock { $0 }
  }

  /// Deactivates the capability.
  /// - Throws: The error of the deactivation, or `StorageError` with code `unavailable` after the deadline; the
  ///   capability is deactivated then as soon as its earlier call returns.
  func deactivate() async throws {
    try await run("was not deactivated") { [capability] _ in try await capability.deactivate() }
  }

  private func run(_ failure: String, _ body: @escaping @Sendable (CapabilityCall) async throws -> Void) async throws {
    let call = CapabilityCall()
    try await withCheckedThrowingContinuation { continuation in
      call.begin(continuation)
      // Detached: what a capability starts must not inherit the task-local values of whoever started the manager.
      let work = last.withLock { last in
        let work = Task.detached { [before = last] in
          await before?.value
          do {
            try await body(call)
            call.end(.success(()))
          } catch { call.end(.failure(error)) }
        }
        last = work
        return work
      }
      let timer = Task.detached { [self] in
        do { try await clock.sleep(for: deadline) } catch { return }
        let late = StorageError(
          .unavailable, "The capability '\(name)' \(failure) within \(deadline).",
          advice: "What depends on it is not active. Start again, or give it a longer deadline.")
        if call.end(.failure(late)) { work.cancel() }
      }
      call.setTimer(timer)
    }
  }
}

/// One call, which ends with its first result.
final class CapabilityCall: Sendable {
  private struct State {
    var waiting: CheckedContinuation<Void, any Error>?
    var timer: Task<Void, Never>?
    var hasEnded = false
  }

  private let state = Locked(State())

  var hasEnded: Bool { state.withLock { $0.hasEnded } }

  func begin(_ continuation: CheckedContinuation<Void, any Error>) { state.withLock { $0.waiting = continuation } }

  /// Records the task of the deadline, which is cancelled when the call ends or has ended already.
  func setTimer(_ timer: Task<Void, Never>) {
    let hasEnded = state.withLock { state in
      state.timer = timer
      return state.hasEnded
    }
    if hasEnded { timer.cancel() }
  }

  /// Ends the call. Returns whether this was the first result.
  @discardableResult
  func end(_ result: Result<Void, any Error>) -> Bool {
    let (waiting, timer, isFirst) = state.withLock { state in
      defer { (state.waiting, state.hasEnded) = (nil, true) }
      return (state.waiting, state.timer, !state.hasEnded)
    }
    timer?.cancel()
    waiting?.resume(with: result)
    return isFirst
  }
}
