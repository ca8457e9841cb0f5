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
      guard call.result == nil else { return }
      try await capability.activate()
      if !call.end(.success(())) { try await capability.deactivate() }
    }
  }

  /// Returns whether the capability can be used.
  /// - Throws: `StorageError` with code `unavailable` after the deadline.
  func isAvailable() async throws -> Bool {
    let isAvailable = Locked(false)
    try await run("did not state whether it is available") { [capability] call in
      guard call.result == nil else { return }
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

  private func run(_ failure: String, _ body: @escaping @Sendable (Promise<Void>) async throws -> Void) async throws {
    let call = Promise<Void>()
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
    defer { timer.cancel() }
    // In a task of its own, which the cancellation of this one does not reach.
    try await Task.detached { try await call.value() }.value
  }
}
