import CofferCore
import Foundation

/// Checks the rotation policy of an engine for as long as it is open.
final class AutomaticRotation: Sendable {
  /// The maximum time in seconds between two checks: the clock may be set.
  static let interval: TimeInterval = 3_600
  /// The time in seconds after a rotation that could not read every value, in which none follows: a day.
  static let pause: TimeInterval = 86_400

  private let policy: KeyRotation.Policy
  private let work = Locked<Task<Void, Never>?>(nil)

  init(_ policy: KeyRotation.Policy) { self.policy = policy }

  /// Begins to check. The engine is retained only while it is being checked.
  func start(_ engine: EncryptedEngine) {
    let clock = engine.clock
    let task = Task { [policy, weak engine] in
      while !Task.isCancelled {
        guard let next = await engine?.rotate(by: policy) else { return }
        // The clock may wake earlier.
        while !Task.isCancelled, clock.now() < next { try? await clock.sleep(next) }
      }
    }
    work.withLock { $0 = task }
  }

  /// Ends the checks, without waiting.
  func cancel() { work.withLock { $0 }?.cancel() }

  /// Ends the checks and a running rotation, and waits for its present commit.
  func stop() async {
    cancel()
    await work.withLock { $0 }?.value
  }
}
