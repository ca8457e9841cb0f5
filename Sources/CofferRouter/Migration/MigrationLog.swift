import CofferEncryption
import Foundation

extension MigrationResult {
  /// What a migration has done with the values of its keys.
  public enum Outcome: String, Hashable, Codable, Sendable {
    /// The key has the migrated value, and the older values were removed.
    case migrated
    /// There was no older value, or the migration was not needed.
    case nothingToMigrate
    /// The key had a value of its own, which was not replaced. The older values were kept, too, and are no longer used.
    /// Remove them once nobody needs them, or remove the key's value and call ``StorageRouter/forceMigration(for:)``.
    case destinationKept
  }
}

/// The record of a key's migrations, in the store of the key: what is done, and what an interrupted run has begun.
///
/// The names of key and migration are hashed: in a store that hides names, a record must not show them.
struct MigrationLog: Sendable {
  /// The state of one migration.
  struct Entry: Codable, Hashable, Sendable {
    enum State: String, Codable {
      /// The key has the new value, and older values may still be there.
      case copied
      case done
    }

    /// An older value: its key, as ``MigrationLog/identities(of:)`` names it, and its revision.
    struct Source: Codable, Hashable, Sendable {
      let key: String
      let revision: UInt64
    }

    /// The start of the SHA-256 of the migration's name, in hexadecimal digits.
    let migration: String
    var state: State
    var outcome: MigrationResult.Outcome
    var date: Date
    /// The version of the application; empty if unknown.
    var appVersion: String
    /// The number of migrated values.
    var values: Int
    /// The older values that the new one was made of, by which an interrupted run is continued; otherwise `nil`.
    var sources: [Source]?
    /// Whether the files of an older store may still hold a removed plain value; otherwise `nil`.
    var remains: Bool?
  }

  let name: SystemRecord.Name
  private(set) var entries: [Entry] = []
  /// The revision of the record, which is that of the copied value until either changes; `nil` if there is none.
  private(set) var revision: StoreRevision?
  /// Whether the record was damaged, and is replaced whatever its revision is.
  private(set) var isDamaged = false
  /// Whether the engine has system records, atomic batches and preconditions.
  let isSupported: Bool
  /// Whether a state can be recorded now.
  let isWritable: Bool

  /// Reads the record of a key.
  /// - Throws: `newerFormat`; the errors of the engine, except damage to the record: its migrations are then examined
  ///   anew, which overwrites nothing.
  init(of key: KeyName, in engine: any StorageEngine) async throws {
    name = try Self.name(of: key)
    isSupported = engine.keepsMigrationRecords
    isWritable = isSupported && !engine.isReadOnly
    guard isSupported else { return }
    do {
      guard let record = try await engine.record(name) else { return }
      revision = record.revision
      guard let entries = try MigrationRecord(decoding: record.content, of: key, at: engine.description)?.entries else {
        isDamaged = true
        return
      }
      self.entries = entries
    } catch let error as StorageError where error.code == .damaged {
      isDamaged = true
    }
  }

  static func name(of key: KeyName) throws -> SystemRecord.Name {
    try .migrations(ofKeyWith: hash(key.string))
  }

  static func hash(_ name: String) -> String {
    sha256(Data(name.utf8)).prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// Returns the state of a migration.
  func entry(of migration: String) -> Entry? {
    let hash = Self.hash(migration)
    return entries.first { $0.migration == hash }
  }

  /// Whether a run of a migration was interrupted.
  func isInterrupted(_ migration: String) -> Bool { entry(of: migration)?.state == .copied }

  /// Whether a run of any migration was interrupted, such as one that has another name now.
  var isInterrupted: Bool { entries.contains { $0.state == .copied } }

  /// Returns the interrupted run that a migration continues: its own, or that of another name whose older keys are all
  /// among its own. The name is for display and may change with the application; the older values are what is left.
  func interruption(of migration: String, _ identities: [String]) -> Entry? {
    if let own = entry(of: migration), own.state == .copied { return own }
    return entries.last { $0.isInterrupted(amidst: identities) }
  }

  /// Returns the names of older keys in a record: hashes, which do not depend on the order of the keys and on where
  /// their stores are. Keys of one name in several stores are numbered.
  static func identities(of sources: [AnyStorageKey]) -> [String] {
    var counts: [KeyName: Int] = [:]
    return sources.map { source in
      // A key whose name is invalid cannot be read either.
      guard let key = try? KeyName(source.key.name) else { return "" }
      defer { counts[key, default: 0] += 1 }
      return hash("\(counts[key, default: 0]) \(key.string)")
    }
  }

  /// The version of the application that last completed a migration.
  var lastVersion: String? { entries.last { $0.state == .done }?.appVersion }

  /// Returns the operations that record a state, on the condition that nobody has changed the record.
  /// - Parameter identities: the older keys; interrupted runs of these under another name are replaced.
  func operations(
    recording migration: String, _ state: Entry.State, _ outcome: MigrationResult.Outcome, values: Int,
    sources: [Entry.Source]? = nil, of identities: [String] = [], remains: Bool = false, appVersion: String,
    at date: Date
  ) throws -> [WriteBatch.Operation] {
    guard isWritable else { return [] }
    let hash = Self.hash(migration)
    let entry = Entry(
      migration: hash, state: state, outcome: outcome, date: date.inMilliseconds, appVersion: appVersion,
      values: values, sources: sources, remains: remains ? true : nil)
    return try operations(entries.filter { $0.migration != hash && !$0.isInterrupted(amidst: identities) } + [entry])
  }

  /// Returns the operations that record that nothing is left of the older values of a completed migration, on the
  /// condition that nobody has changed the record.
  func operations(recordingRemovalFor migration: String) throws -> [WriteBatch.Operation] {
    let hash = Self.hash(migration)
    guard isWritable, let index = entries.firstIndex(where: { $0.migration == hash && $0.state == .done }) else {
      return []
    }
    var entries = entries
    entries[index].remains = nil
    return try operations(entries)
  }

  private func operations(_ entries: [Entry]) throws -> [WriteBatch.Operation] {
    (isDamaged ? [] : [.requireRecord(name, revision)]) + [
      .putRecord(name, try MigrationRecord(entries: entries).encoded())
    ]
  }
}

extension MigrationLog.Entry {
  /// Whether this is an interrupted run whose older keys are all among those given.
  func isInterrupted(amidst identities: [String]) -> Bool {
    guard state == .copied, let sources, !sources.isEmpty else { return false }
    return sources.allSatisfy { identities.contains($0.key) }
  }
}
