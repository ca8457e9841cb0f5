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

/// The record of a key's migration, in the store of the key: what is done, or what an interrupted run has begun.
///
/// The names of key and migration are hashed: in a store that hides names, a record must not show them.
struct MigrationLog: Sendable {
  /// The state of the migration that ran last.
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
    /// The older values that the new one was made of, by which an interrupted run is continued; otherwise `nil`.
    var sources: [Source]?
    /// Whether the files of an older store may still hold a removed plain value; otherwise `nil`.
    var remains: Bool?
  }

  let name: SystemRecord.Name
  private(set) var entry: Entry?
  /// The revision of the record, which is that of the copied value until either changes; `nil` if there is none.
  private(set) var revision: StoreRevision?
  /// Whether the record was damaged, and is replaced whatever its revision is.
  private var isDamaged = false
  /// Whether the engine has system records, atomic batches and preconditions.
  let isSupported: Bool
  /// Whether a state can be recorded now.
  let isWritable: Bool

  /// Reads the record of a key.
  /// - Throws: `newerFormat`; the errors of the engine, except damage to the record: its migration is then examined
  ///   anew, which overwrites nothing.
  init(of key: KeyName, in engine: any StorageEngine) async throws {
    name = try .migrations(ofKeyWith: Self.hash(key.string))
    isSupported = engine.keepsMigrationRecords
    isWritable = isSupported && !engine.isReadOnly
    guard isSupported else { return }
    do {
      guard let record = try await engine.record(name) else { return }
      revision = record.revision
      entry = try MigrationRecord(decoding: record.content, of: key, at: engine.description)?.entry
      isDamaged = entry == nil
    } catch let error as StorageError where error.code == .damaged {
      isDamaged = true
    }
  }

  static func hash(_ name: String) -> String {
    sha256(Data(name.utf8)).prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  }

  /// Returns the state of a migration, if it ran last.
  func entry(of migration: String) -> Entry? { entry?.migration == Self.hash(migration) ? entry : nil }

  /// Whether the run of a migration was interrupted, possibly of one that has another name now.
  var isInterrupted: Bool { entry?.state == .copied }

  /// Returns the state that a migration continues: its own, or that of an interrupted one of another name whose older
  /// keys are all among its own. The name is for display and may change with the application; the older values are what
  /// is left.
  func entry(continuedBy migration: String, _ identities: [String]) -> Entry? {
    if let own = entry(of: migration) { return own }
    guard isInterrupted, let sources = entry?.sources, !sources.isEmpty else { return nil }
    return sources.allSatisfy { identities.contains($0.key) } ? entry : nil
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
  var lastVersion: String? { isInterrupted ? nil : entry?.appVersion }

  /// Returns the operations that record a state, on the condition that nobody has changed the record.
  func operations(
    recording migration: String, _ state: Entry.State, _ outcome: MigrationResult.Outcome,
    sources: [Entry.Source]? = nil, remains: Bool = false, appVersion: String, at date: Date
  ) throws -> [WriteBatch.Operation] {
    guard isWritable else { return [] }
    return try operations(
      Entry(
        migration: Self.hash(migration), state: state, outcome: outcome, date: date.inMilliseconds,
        appVersion: appVersion, sources: sources,
        // What an earlier migration has left is left, whatever comes after it.
        remains: remains || entry?.remains == true ? true : nil))
  }

  /// Returns the operations that record that nothing is left of the older values of a completed migration, on the
  /// condition that nobody has changed the record.
  func operations(recordingRemovalFor migration: String) throws -> [WriteBatch.Operation] {
    guard isWritable, var entry = entry(of: migration), entry.state == .done else { return [] }
    entry.remains = nil
    return try operations(entry)
  }

  private func operations(_ entry: Entry) throws -> [WriteBatch.Operation] {
    (isDamaged ? [] : [.requireRecord(name, revision)]) + [.putRecord(name, try MigrationRecord(entry).encoded())]
  }
}
