public import Foundation

extension AuditReport {
  /// The state of a key's migration.
  public enum MigrationState: Hashable, Codable, Sendable {
    /// The migration runs when the key is next used.
    case pending
    /// A run was interrupted after it had stored the new value; the next access of the key completes it.
    case interrupted(Date)
    /// The migration is done. `isScrubbed` says whether the files of the older stores are free of values that were
    /// plain and are protected now. If it is `false` after ``StorageRouter/close()``, another program has read the
    /// store, its disk was full, or its quarantine has whole damaged files, which are to be examined; the next process
    /// continues.
    case done(MigrationResult.Outcome, Date, isScrubbed: Bool)
    /// The state cannot be read.
    case unknown(reason: String)
  }
}

extension AuditReport.MigrationState {
  /// The state of a migration in a store; without one, it is pending.
  init(of migration: String, _ key: KeyName, in engine: (any StorageEngine)?) async {
    do {
      guard let engine, let entry = try await MigrationLog(of: key, in: engine).entry(of: migration) else {
        self = .pending
        return
      }
      self =
        entry.state == .copied
        ? .interrupted(entry.date) : .done(entry.outcome, entry.date, isScrubbed: entry.remains != true)
    } catch { self = .unknown(reason: StoredError.storage(error).message) }
  }
}
