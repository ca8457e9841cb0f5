import CofferCore
import CofferLocks

/// One activation, which is abandoned at its deadline.
final class CapabilityActivation: Sendable {
  private enum Phase {
    case running(CheckedContinuation<Void, any Error>?)
    case ended
  }

  private let name: CapabilityID
  private let capability: any Capability
  private let phase = Locked(Phase.running(nil))
  private let timer = Locked<Task<Void, Never>?>(nil)

  init(_ name: CapabilityID, _ capability: any Capability) { (self.name, self.capability) = (name, capability) }

  /// Activates the capability. One that completes after the deadline is deactivated again.
  /// - Throws: The error of the activation, or `StorageError` with code `unavailable` after the deadline.
  func run(within deadline: Duration, _ clock: any Clock<Duration>) async throws {
    try await withCheckedThrowingContinuation { continuation in
      phase.withLock { $0 = .running(continuation) }
      let work = Task {
        do {
          try await capability.activate()
          if !end(.success(())) { await capability.deactivate() }
        } catch {
          end(.failure(error))
        }
      }
      let waiting = Task {
        do { try await clock.sleep(for: deadline) } catch { return }
        let late = StorageError(
          .unavailable, "The capability '\(name)' was not activated within \(deadline).",
          advice: "What depends on it was not activated. Start again, or give it a longer deadline.")
        if end(.failure(late)) { work.cancel() }
      }
      // The activation may have ended before its timer was known.
      let hasEnded = timer.withLock { held in
        held = waiting
        return phase.withLock { if case .ended = $0 { true } else { false } }
      }
      if hasEnded { waiting.cancel() }
    }
  }

  /// Ends the activation with its first result. Returns whether this was the first.
  @discardableResult
  private func end(_ result: Result<Void, any Error>) -> Bool {
    let waiting = phase.withLock { phase -> CheckedContinuation<Void, any Error>? in
      guard case .running(let continuation) = phase else { return nil }
      phase = .ended
      return continuation
    }
    timer.withLock { $0 }?.cancel()
    waiting?.resume(with: result)
    return waiting != nil
  }
}
