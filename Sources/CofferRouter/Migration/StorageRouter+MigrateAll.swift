public import CofferCore

extension StorageRouter {
  /// The progress of the migrations of all registered keys.
  public struct MigrationState: Hashable, Sendable {
    /// The number of keys that were migrated, had nothing to migrate, or have failed.
    public internal(set) var keys = 0
    /// The number of registered keys with a migration or with versions.
    public internal(set) var totalKeys: Int
  }

  /// The outcome of the migrations of all registered keys.
  public struct MigrationReport: Sendable {
    /// The keys whose migrations are done, by this run or an earlier one.
    public internal(set) var migrated: [StorageKeyDescriptor] = []
    /// The errors of keys that could not be migrated; their older values are kept.
    public internal(set) var failures: [StorageError] = []
    /// The keys that a cancellation has left.
    public internal(set) var cancelled: [StorageKeyDescriptor] = []

    /// Whether the migrations of all registered keys are done.
    public var isComplete: Bool { failures.isEmpty && cancelled.isEmpty }
  }

  /// Runs the migrations of all registered keys that are not done, one after the other, instead of at the first access
  /// of each key, and brings the values of keys with versions to the present one. One that fails does not keep the
  /// others from it.
  ///
  /// ```swift
  /// let migration = router.migrateRegisteredKeys()
  /// bar.observedProgress = migration.progress
  /// let report = try await migration.result()
  /// if !report.isComplete { log(report.failures) }
  /// ```
  ///
  /// Each key is complete in itself: what was interrupted at any point is continued by the key's next access or by the
  /// next run. The files of the older stores are freed of plain values that are protected now, once each, before the
  /// report.
  /// - Returns: the running migrations, counted in keys, whose result throws nothing. Cancelling them ends the run
  ///   after the present key.
  public nonisolated func migrateRegisteredKeys() -> ObservedTask<MigrationState, MigrationReport> {
    let keys = registry.catalogs.flatMap(\.allKeys).filter(\.descriptor.mayBeOlder)
    return ObservedTask(MigrationState(totalKeys: keys.count)) { (completed: $0.keys, total: $0.totalKeys) }.start {
      [self] task in
      let report = await migrate(keys) { task.update { $0.keys += 1 } }
      await remains.settle()
      return report
    }
  }

  /// Migrates keys one after the other.
  nonisolated func migrate(_ keys: [AnyStorageKey], onEach: () -> Void = {}) async -> MigrationReport {
    var report = MigrationReport()
    for key in keys {
      do {
        try Task.checkCancellation()
        try await MigrationRemains.$isBatch.withValue(true) { try await key.key.migrated(by: self) }
        report.migrated.append(key.descriptor)
      } catch is CancellationError {
        report.cancelled.append(key.descriptor)
        continue
      } catch { report.failures.append(StoredError.storage(error)) }
      onEach()
    }
    return report
  }
}
