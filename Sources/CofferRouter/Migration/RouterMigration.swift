import CofferCore
public import Foundation

/// The migrations of a router's registered keys, one after the other.
///
/// ```swift
/// let migration = router.migrateRegisteredKeys()
/// bar.observedProgress = migration.progress
/// let report = await migration.report()
/// if !report.isComplete { log(report.failures) }
/// ```
///
/// It continues if this object is released, and ends with the process. Each key is complete in itself: what was
/// interrupted at any point is continued by the key's next access or by the next run. The files of the older stores are
/// freed of plain values that are protected now, once each, before the report.
public final class RouterMigration: Sendable {
  private let task: ObservedTask<RouterMigration.State, RouterMigration.Report>

  init(_ router: StorageRouter, _ keys: [AnyStorageKey]) {
    task = ObservedTask(RouterMigration.State(totalKeys: keys.count)) { (completed: $0.keys, total: $0.totalKeys) }
    task.start { [task] in
      var report = RouterMigration.Report()
      for key in keys {
        let outcome: Result<Void, StorageError>?
        do {
          try Task.checkCancellation()
          try await MigrationRemains.$isBatch.withValue(true) { try await key.key.migrated(by: router) }
          outcome = .success(())
        } catch is CancellationError { outcome = nil } catch { outcome = .failure(StoredError.storage(error)) }
        switch outcome {
        case .success?: report.migrated.append(key.descriptor)
        case .failure(let error)?: report.failures.append(error)
        case nil: report.cancelled.append(key.descriptor)
        }
        if outcome != nil { task.update { $0.keys += 1 } }
      }
      await router.remains.settle()
      return report
    }
  }

  /// The progress, counted in keys. Cancelling it ends the run after the present key.
  public var progress: Progress { task.progress }

  /// A new stream of the progress: the present state, then the latest one after each key, until the end.
  public var updates: AsyncStream<RouterMigration.State> { task.updates }

  /// Waits for the end. Cancelling the waiting task does not cancel the run.
  public func report() async -> RouterMigration.Report {
    (try? await task.result()) ?? RouterMigration.Report()  // The task throws nothing.
  }

  /// Ends the run after the present key.
  public func cancel() { task.cancel() }
}

extension RouterMigration {
  /// The progress of a ``RouterMigration``.
  public struct State: Hashable, Sendable {
    /// The number of keys that were migrated, had nothing to migrate, or have failed.
    public internal(set) var keys = 0
    /// The number of registered keys with a migration or with versions.
    public internal(set) var totalKeys: Int
  }
}

extension RouterMigration {
  /// The outcome of a ``RouterMigration``.
  public struct Report: Sendable {
    /// The keys whose migrations are done, by this run or an earlier one.
    public internal(set) var migrated: [StorageKeyDescriptor] = []
    /// The errors of keys that could not be migrated; their older values are kept.
    public internal(set) var failures: [StorageError] = []
    /// The keys that a cancellation has left.
    public internal(set) var cancelled: [StorageKeyDescriptor] = []

    /// Whether the migrations of all registered keys are done.
    public var isComplete: Bool { failures.isEmpty && cancelled.isEmpty }
  }
}

extension StorageRouter {
  /// Runs the migrations of all registered keys that are not done, instead of at the first access of each key, and
  /// brings the values of keys with versions to the present one. One that fails does not keep the others from it.
  /// - Returns: the running migrations; see ``RouterMigration/report()``.
  public nonisolated func migrateRegisteredKeys() -> RouterMigration {
    RouterMigration(self, registry.catalogs.flatMap(\.allKeys).filter(\.descriptor.mayBeOlder))
  }
}
