import CofferCrypto
import Foundation

/// What a migration has done with the values of its keys.
public enum MigrationOutcome: String, Hashable, Codable, Sendable {
  /// The key has the migrated value, and the older values were removed.
  case migrated
  /// There was no older value, or the migration was not needed.
  case nothingToMigrate
  /// The key had a value of its own, which was not replaced. The older values were kept, too, and are no longer used.
  /// Remove them once nobody needs them, or remove the key's value and call ``StorageRouter/forceMigration(for:)``.
  case destinationKept
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

    /// An older value: the position of its key in the migration, and its revision.
    struct Source: Codable, Hashable, Sendable {
      let position: Int
      let revision: UInt64
    }

    /// The start of the SHA-256 of the migration's name, in hexadecimal digits.
    let migration: String
    var state: State
    var outcome: MigrationOutcome
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

  private static let format = 1
  private static let magic = "coffer-migrations"

  let name: SystemRecordName
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
  init(of key: StoreKey, in engine: any StorageEngine) async throws {
    name = try Self.name(of: key)
    isSupported = engine.capabilities.contains([.systemRecords, .atomicBatches, .preconditions, .revisions])
    isWritable = isSupported && !engine.isReadOnly
    guard isSupported else { return }
    do {
      guard let record = try await engine.record(name) else { return }
      revision = record.revision
      guard let entries = try Self.decode(record.content, key, location: engine.description) else {
        isDamaged = true
        return
      }
      self.entries = entries
    } catch let error as StorageError where error.code == .damaged {
      isDamaged = true
    }
  }

  static func name(of key: StoreKey) throws -> SystemRecordName {
    try SystemRecordName("router/migrations/" + hash(key.string))
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

  /// The version of the application that last changed the record.
  var lastVersion: String? { entries.last?.appVersion }

  /// Returns the operations that record a state, on the condition that nobody has changed the record.
  func operations(
    recording migration: String, _ state: Entry.State, _ outcome: MigrationOutcome, values: Int,
    sources: [Entry.Source]? = nil, remains: Bool = false, appVersion: String, at date: Date
  ) throws -> [WriteBatch.Operation] {
    guard isWritable else { return [] }
    let hash = Self.hash(migration)
    let entry = Entry(
      migration: hash, state: state, outcome: outcome, date: date.inMilliseconds, appVersion: appVersion,
      values: values, sources: sources, remains: remains ? true : nil)
    let content = try Self.encode(entries.filter { $0.migration != hash } + [entry])
    return (isDamaged ? [] : [.requireRecord(name, revision)]) + [.putRecord(name, content)]
  }

  // MARK: Format

  /// A line with the magic word, the format and a checksum of everything else, followed by a list in JSON.
  private static func encode(_ entries: [Entry]) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    encoder.dateEncodingStrategy = .millisecondsSince1970
    let body = try encoder.encode(entries)
    return Data("\(magic) \(format) \(checksum(format, body))\n".utf8) + body
  }

  /// Returns the entries; `nil` if the record is damaged.
  private static func decode(_ content: Data, _ key: StoreKey, location: String) throws -> [Entry]? {
    guard let end = content.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
    let words = String(decoding: content[..<end], as: UTF8.self).split(separator: " ", omittingEmptySubsequences: false)
    let body = Data(content[content.index(after: end)...])
    guard words.count == 3, words[0] == magic, let format = Int(words[1]), words[2] == checksum(format, body) else {
      return nil
    }
    guard format <= Self.format else {
      throw StorageError(
        .newerFormat, "A newer version of the application has migrated the key, and recorded it in format \(format).",
        advice: "Use that version. Nothing was changed.", location: location, key: key)
    }
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .millisecondsSince1970
    return try? decoder.decode([Entry].self, from: body)
  }

  /// A checksum of a record in any format, this one and later ones.
  private static func checksum(_ format: Int, _ body: Data) -> String {
    hash("\(format)\n" + String(decoding: body, as: UTF8.self))
  }
}
