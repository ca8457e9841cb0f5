import CofferCore

/// The recovery that opening a store starts. It runs once, in the background; callers that depend on it await it.
final class SlotRecovery: Sendable {
  private let task = Locked<Task<RecoveryReport, any Error>?>(nil)
  private let waiting = Locked(false)
  private let start: @Sendable () -> Task<RecoveryReport, any Error>

  /// Creates a recovery that starts with the first call of ``begin()`` or ``done()``.
  init(_ run: @escaping @Sendable () async throws -> RecoveryReport) {
    start = { Task { try await run() } }
  }

  /// Whether it waits for another use of the store than reading one value.
  var isWaiting: Bool { waiting.withLock { $0 } }

  func waitForUse() { waiting.withLock { $0 = true } }

  /// Begins the recovery if it waits for a use of the store.
  func beginIfWaiting() {
    let isFirst = waiting.withLock { waiting in
      defer { waiting = false }
      return waiting
    }
    if isFirst { begin() }
  }

  func begin() { task.withLock { $0 = $0 ?? start() } }

  /// Waits for a recovery in progress to end, whether or not it succeeds.
  func settled() async { _ = try? await task.withLock { $0 }?.value }

  /// Returns the report once recovery has succeeded. A failed recovery, for instance for lack of space, starts again
  /// with the next call.
  @discardableResult
  func done() async throws -> RecoveryReport {
    let task = task.withLock { task in
      let present = task ?? start()
      task = present
      return present
    }
    do {
      return try await task.value
    } catch {
      self.task.withLock { present in
        if present == task { present = nil }
      }
      throw error
    }
  }
}
