import CofferCore
import CofferLocks
import Foundation

/// Checks the rotation policy of an engine for as long as it is open.
final class AutomaticRotation: Sendable {
  /// The maximum time in seconds between two checks: the clock may be set, and other processes record uses as well.
  static let interval: TimeInterval = 3_600

  private struct State {
    var work: Task<Void, Never>?
    var sleeper: Task<Void, Never>?
    var isWoken = false
  }

  private let policy: RotationPolicy
  private let state = Locked(State())

  init(_ policy: RotationPolicy) { self.policy = policy }

  /// Begins to check. The engine is retained only while it is being checked.
  func start(_ engine: EncryptedEngine) {
    let clock = engine.clock
    let work = Task { [self, weak engine] in
      while !Task.isCancelled {
        guard let next = await engine?.rotate(by: policy) else { return }
        await sleep(until: next, clock)
      }
    }
    state.withLock { $0.work = work }
  }

  /// Lets the next check follow at once, as after the uses of a key were recorded.
  func wake() {
    state.withLock { state in
      state.isWoken = true
      state.sleeper?.cancel()
    }
  }

  /// Ends the checks, without waiting.
  func cancel() { state.withLock { $0.work }?.cancel() }

  /// Ends the checks and a running rotation, and waits for its present commit.
  func stop() async {
    cancel()
    await state.withLock { $0.work }?.value
  }

  private func sleep(until date: Date, _ clock: StoreClock) async {
    let sleeper = Task {
      // The clock may wake earlier.
      while !Task.isCancelled, clock.now() < date { try? await clock.sleep(date) }
    }
    state.withLock { state in
      state.sleeper = sleeper
      if state.isWoken { sleeper.cancel() }
    }
    await withTaskCancellationHandler {
      await sleeper.value
    } onCancel: {
      sleeper.cancel()
    }
    state.withLock { state in
      state.sleeper = nil
      state.isWoken = false
    }
  }
}
