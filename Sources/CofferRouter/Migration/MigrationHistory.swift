public import Foundation

extension RouterMigration {
  /// What a migration of a declared key has done, as recorded in the store of the key.
  public struct Entry: Hashable, Codable, Sendable {
    /// The name of the key.
    public var key: String
    /// The description of the key's ``StorageDomain``.
    public var domain: String
    /// The ``StorageMigration/name`` of the migration; `nil` for an earlier migration that the key no longer declares.
    public var migration: String?
    /// What has happened to the values.
    public var outcome: MigrationResult.Outcome
    /// The date of the end, or of the interruption.
    public var date: Date
    /// The version of the application that has run the migration; empty if unknown.
    public var appVersion: String
    /// The number of migrated values.
    public var values: Int
    /// Whether the run was interrupted after it had stored the new value; the next access of the key completes it.
    public var isInterrupted: Bool
    /// Whether the files of the older stores are free of values that were plain and are protected now. If it is `false`
    /// after ``StorageRouter/close()``, another program has read the store, its disk was full, or its quarantine has
    /// whole damaged files, which are to be examined; the next process continues.
    public var isScrubbed: Bool
  }

  /// The state of a key's migration.
  public enum KeyState: Hashable, Codable, Sendable {
    /// The migration runs when the key is next used.
    case pending
    /// A run was interrupted after it had stored the new value; the next access of the key completes it.
    case interrupted(Date)
    /// The migration is done.
    case done(MigrationResult.Outcome, Date)
    /// The state cannot be read.
    case unknown(reason: String)
  }
}

extension StorageRouter {
  /// Returns what the migrations of all registered keys have done, the oldest first.
  ///
  /// Opens the existing stores of these keys, creates none and migrates nothing.
  /// - Throws: `StorageError` if the state of a key cannot be read, such as `unavailable` for a locked keyring and
  ///   `newerFormat`. A damaged record is omitted: its migration is examined anew at the next access of the key.
  public nonisolated func migrationHistory() async throws -> [RouterMigration.Entry] {
    var history: [RouterMigration.Entry] = []
    for record in registry.registered where record.descriptor.hasMigration && record.obstacle == nil {
      guard let engine = try await existingStore(of: record.descriptor.domain)?.engine else { continue }
      for entry in try await MigrationLog(of: record.key, in: engine).entries {
        history.append(RouterMigration.Entry(entry, record.descriptor))
      }
    }
    return history.sorted { $0.date < $1.date }
  }
}

extension RouterMigration.Entry {
  init(_ entry: MigrationLog.Entry, _ key: StorageKeyDescriptor) {
    self.key = key.name
    domain = key.domain.description
    migration = key.migration.flatMap { MigrationLog.hash($0) == entry.migration ? $0 : nil }
    (outcome, date, appVersion) = (entry.outcome, entry.date, entry.appVersion)
    (values, isInterrupted, isScrubbed) = (entry.values, entry.state == .copied, entry.remains != true)
  }
}

extension RouterMigration.KeyState {
  /// The state of a migration in a store; without one, it is pending.
  init(of migration: String, _ key: KeyName, in engine: (any StorageEngine)?) async {
    do {
      guard let engine, let entry = try await MigrationLog(of: key, in: engine).entry(of: migration) else {
        self = .pending
        return
      }
      self = entry.state == .done ? .done(entry.outcome, entry.date) : .interrupted(entry.date)
    } catch { self = .unknown(reason: StoredError.storage(error).message) }
  }
}
