import CofferCore
import CofferSQLite
import Foundation

/// What the journal database says of values in slots: their records, and what is still to be put into its place.
///
/// The records are the values of the database's own store, so revisions, preconditions, listings and the feed of
/// changes are those of ``SQLiteEngine``. `docs/formats/files.md` describes both tables.
struct SlotJournal {
  /// One value that a committed batch has stored or removed, until it is so in the home.
  struct Intent {
    let position: Int64
    /// The commit that it is part of.
    let revision: StoreRevision
    let key: StoreKey
    /// Where the new value waits; `nil` when the value is removed.
    let staged: SlotID?
    /// The version that it replaces.
    let previous: SlotRecord?
  }

  private enum SQL {
    static let intend = """
      INSERT INTO coffer_intents (revision, key, staged, previous)
      VALUES (?1, ?2, ?3, (SELECT \(ValueRow.value) FROM coffer_values WHERE key = ?2))
      """
    static let intendClear = """
      INSERT INTO coffer_intents (revision, key, staged, previous) SELECT ?1, key, NULL, \(ValueRow.value)
      FROM coffer_values
      """
    static let intents = "SELECT position, revision, key, staged, previous FROM coffer_intents ORDER BY position"
  }

  /// What the journal has beside the records: what is still to be put into its place.
  static let tables = """
    CREATE TABLE IF NOT EXISTS coffer_intents (
      position INTEGER PRIMARY KEY NOT NULL, revision INTEGER NOT NULL, key BLOB NOT NULL, staged BLOB, previous BLOB
    ) STRICT
    """

  // MARK: In the transaction of a commit

  /// Records a batch whose values were put aside, and forgets what is done up to a revision.
  static func record(
    _ operations: [WriteBatch.Operation], _ staged: [SlotRecord?], done: StoreRevision,
    in transaction: SQLiteTransaction
  ) throws {
    if done > .zero {
      try transaction.execute("DELETE FROM coffer_intents WHERE revision <= ?1", [done.integer])
    }
    let revision = transaction.revision.integer
    for (operation, record) in zip(operations, staged) {
      switch operation {
      case .put(let key, _, _):
        guard let record else { continue }
        try transaction.execute(SQL.intend, [revision, key.blob, .blob(record.id.bytes)])
        try transaction.put(key, record.encoded)
      case .delete(let key):
        try transaction.execute(SQL.intend, [revision, key.blob, .null])
        try transaction.delete(key)
      case .clear(nil):
        try transaction.execute(SQL.intendClear, [revision])
        try transaction.clear(nil)
      case .clear(let prefix?):
        let range: [SQLiteValue] = [prefix.blob, .blob(Data(prefix.successor))]
        try transaction.execute(SQL.intendClear + " WHERE key >= ?2 AND key < ?3", [revision] + range)
        try transaction.clear(prefix)
      case .putRecord, .deleteRecord: try transaction.change(operation)
      case .require, .requireRecord: break
      }
    }
  }

  /// What the journal says of a key.
  enum Line {
    case none
    case record(SlotRecord)
    /// The row is damaged: it says nothing but that there is one.
    case unreadable
  }

  /// The line of a key in the state of a transaction.
  static func line(of key: StoreKey, in transaction: SQLiteTransaction) throws -> Line {
    do {
      guard let value = try transaction.value(key) else { return .none }
      return value.withUnsafeBytes { SlotRecord($0) }.map { .record($0) } ?? .unreadable
    } catch let error as StorageError where error.code == .damaged {
      return .unreadable
    }
  }

  /// The record of a key on the writer's connection.
  static func record(of key: StoreKey, _ committer: GroupCommitter) throws -> SlotRecord? {
    let sql = "SELECT \(ValueRow.value) FROM coffer_values WHERE key = ?1"
    return try committer.statements.query(sql, [key.blob]) { $0.blob(0) }.first
      .flatMap { $0.withUnsafeBytes { SlotRecord($0) } }
  }

  /// All records on the writer's connection; `nil` for one that is damaged.
  static func records(_ committer: GroupCommitter) throws -> [(key: StoreKey, record: SlotRecord?)] {
    try committer.statements.query("SELECT key, \(ValueRow.value) FROM coffer_values", []) { row in
      row.blob(0).key.map { ($0, row.blob(1).withUnsafeBytes { SlotRecord($0) }) }
    }.compactMap { $0 }
  }

  /// The versions that wait for being put into their places.
  static func stagedVersions(in transaction: SQLiteTransaction) throws -> [SlotID] {
    try transaction.query("SELECT staged FROM coffer_intents WHERE staged IS NOT NULL") { SlotID($0.blob(0)) }
      .compactMap { $0 }
  }

  /// The keys that wait for being put into their places.
  static func intendedKeys(in transaction: SQLiteTransaction, of name: String) throws -> Set<StoreKey> {
    Set(try transaction.query("SELECT key FROM coffer_intents") { try $0.blob(0).key.or(.damagedIntent(name)) })
  }

  // MARK: After the commit

  /// What is still to be done, or has been done and not been forgotten yet, in its order.
  static func intents(_ statements: StatementCache, of backend: String) throws -> [Intent] {
    try statements.query(SQL.intents, []) { row in
      let key = try row.blob(2).key.or(.damagedIntent(backend))
      // A version that cannot be read must not be taken for none, which would be a removal.
      return Intent(
        position: row.integer(0), revision: StoreRevision(UInt64(bitPattern: row.integer(1))), key: key,
        staged: row.isNull(3) ? nil : try SlotID(row.blob(3)).or(.damagedIntent(backend)),
        previous: row.isNull(4) ? nil : row.blob(4).withUnsafeBytes { SlotRecord($0) })
    }
  }

  /// Removes the work that is done. What has failed stays.
  static func forget(_ intents: [Intent], except failed: Set<StoreKey>, _ committer: GroupCommitter) throws {
    guard let last = intents.last else { return }
    if failed.isEmpty {
      try committer.statements.execute("DELETE FROM coffer_intents WHERE position <= ?1", [.integer(last.position)])
    } else {
      for intent in intents where !failed.contains(intent.key) {
        try committer.statements.execute("DELETE FROM coffer_intents WHERE position = ?1", [.integer(intent.position)])
      }
    }
  }

  /// Notes the stamp that a version has in its place, if the version is still the newest.
  static func note(_ stamp: SlotStamp?, of id: SlotID, _ key: StoreKey, _ committer: GroupCommitter) throws {
    guard let record = try record(of: key, committer), record.id == id, record.stamp != stamp else { return }
    var noted = record
    noted.stamp = stamp
    try committer.rewrite(key, noted.encoded)
  }

  /// Notes what became of a version, if the version is still the newest.
  static func note(_ noted: SlotRecord, _ key: StoreKey, _ committer: GroupCommitter) throws {
    guard let record = try record(of: key, committer), record.id == noted.id, record != noted else { return }
    try committer.rewrite(key, noted.encoded)
  }
}

extension StoreRevision {
  fileprivate var integer: SQLiteValue { .integer(Int64(bitPattern: rawValue)) }
}

extension StoreKey {
  fileprivate var blob: SQLiteValue { .blob(Data(string.utf8)) }
}

extension Data {
  /// The key that these bytes are. No writer of ours makes others.
  fileprivate var key: StoreKey? { String(validating: self, as: UTF8.self).flatMap { try? StoreKey($0) } }
}

extension Optional {
  fileprivate func or(_ error: StorageError) throws -> Wrapped {
    guard let self else { throw error }
    return self
  }
}

extension StorageError {
  fileprivate static func damagedIntent(_ backend: String) -> StorageError {
    StorageError(
      .damaged, "The journal is damaged: what it lists as still to be put into its place cannot be read.",
      advice:
        "Copy the store, then delete the journal while nobody has the store open: it is made anew from the values.",
      backend: backend)
  }
}
