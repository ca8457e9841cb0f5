import CofferCore
import CofferLocks

/// What opening a store has to mend, done once in the background; who needs it waits for it.
final class SlotRecovery: Sendable {
  private let task = Locked<Task<RecoveryReport, any Error>?>(nil)
  private let start: @Sendable () -> Task<RecoveryReport, any Error>

  /// Begins with the first caller.
  init(_ run: @escaping @Sendable () async throws -> RecoveryReport) {
    start = { Task { try await run() } }
  }

  func begin() { task.withLock { $0 = $0 ?? start() } }

  /// Returns when what is under way has ended, however it ends.
  func settled() async { _ = try? await task.withLock { $0 }?.value }

  /// Returns when it is done. One that has failed, for want of space or of a lock, begins again with the next caller.
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
