import CofferCore
import CofferSQLite
import Foundation

/// The journal database of a store in slots: the records of its values, and the intents that are not yet carried out.
///
/// The records are stored as the values of an ``SQLiteEngine``, which provides revisions, preconditions, listings and
/// the feed of changes. `docs/formats/files.md` describes both tables.
struct SlotJournal {
  /// A committed change of one value that may not yet have been carried out in the store.
  struct Intent {
    let position: Int64
    /// The revision of the commit that it is part of.
    let revision: StoreRevision
    let key: KeyName
    /// The staged version; `nil` for a removal.
    let staged: SlotID?
    /// Whether a power loss may have removed the staged value although nothing else failed: its name was not synced
    /// before the commit, and the commit was not acknowledged.
    let mayBeLost: Bool
    /// The version that it replaces.
    let previous: SlotRecord?
  }

  /// The table of the versions that wait to be published.
  static let intentTable: StaticString = "coffer_intents"

  private enum SQL {
    static let intend = """
      INSERT INTO coffer_intents (revision, key, staged, previous)
      VALUES (?1, ?2, ?3, (SELECT \(ValueRow.value) FROM coffer_values WHERE key = ?2)) RETURNING previous
      """
    static let intendClear = """
      INSERT INTO coffer_intents (revision, key, staged, previous) SELECT ?1, key, NULL, \(ValueRow.value)
      FROM coffer_values
      """
    static let record = "SELECT \(ValueRow.value) FROM coffer_values WHERE key = ?1"
    static let intents = "SELECT position, revision, key, staged, previous FROM coffer_intents ORDER BY position"
  }

  /// The table of intents, which the journal has beside the records.
  static let tables = """
    CREATE TABLE IF NOT EXISTS coffer_intents (
      position INTEGER PRIMARY KEY NOT NULL, revision INTEGER NOT NULL, key BLOB NOT NULL, staged BLOB, previous BLOB
    ) STRICT
    """

  // MARK: In the transaction of a commit

  /// The byte after the id of a staged value whose name was not synced before its commit.
  private static let unsynced = Data([1])

  /// Records a batch whose values are staged, and deletes the intents that are done up to a revision.
  /// - Parameter sync: syncs the staged value of a batch that is alone. Called if an earlier commit of its key is not
  ///   published: were the value lost, that one would be, too.
  /// - Throws: `keyUnavailable` for a plain value that would replace an envelope in a store without a key ring.
  static func record(
    _ operations: [WriteBatch.Operation], _ staged: [SlotRecord?], done: StoreRevision,
    of location: String, in transaction: SQLiteDatabase.Transaction, sync: (SlotID) throws -> Void = { _ in }
  ) throws {
    if done > .zero {
      try transaction.execute("DELETE FROM coffer_intents WHERE revision <= ?1", [done.integer])
    }
    let revision = transaction.revision.integer
    var mark = operations.syncStagedNames ? Data() : unsynced
    for (operation, record) in zip(operations, staged) {
      switch operation {
      case .put(let key, let value, let attributes):
        guard let record else { continue }
        if !mark.isEmpty, try isIntended(key, in: transaction) {
          try sync(record.id)
          mark = Data()
        }
        let previous = try transaction.query(SQL.intend, [revision, key.blob, .blob(record.id.bytes + mark)]) { row in
          row.blob(0).withUnsafeBytes { SlotRecord($0) }
        }
        if previous.first??.attributes.isSealed == true, SealedValue.isRefused(value, attributes),
          try !hasRing(transaction)
        {
          throw StorageError.ringIsLost(location: location, key: key)
        }
        try put(record, of: key, in: transaction)
      case .delete(let key):
        try transaction.execute(SQL.intend, [revision, key.blob, .null])
        try transaction.change(operation)
      case .clear(nil):
        try transaction.execute(SQL.intendClear, [revision])
        try transaction.change(operation)
      case .clear(let prefix?):
        let range: [SQLiteValue] = [prefix.blob, .blob(Data(prefix.successor))]
        try transaction.execute(SQL.intendClear + " WHERE key >= ?2 AND key < ?3", [revision] + range)
        try transaction.change(operation)
      case .putRecord, .deleteRecord: try transaction.change(operation)
      case .require, .requireRecord: break
      }
    }
  }

  private static func isIntended(_ key: KeyName, in transaction: SQLiteDatabase.Transaction) throws -> Bool {
    try !transaction.query("SELECT 1 FROM coffer_intents WHERE key = ?1", [key.blob], { _ in }).isEmpty
  }

  private static func hasRing(_ transaction: SQLiteDatabase.Transaction) throws -> Bool {
    let name = SystemRecord.Name.keyRing.key
    return try !transaction.query("SELECT 1 FROM coffer_records WHERE key = ?1", [name.blob], { _ in }).isEmpty
  }

  /// Writes the row of a key. The row has the expiry of the value as its own, too, by which preconditions and the sweep
  /// are judged.
  static func put(_ record: SlotRecord, of key: KeyName, in transaction: SQLiteDatabase.Transaction) throws {
    try transaction.change(.put(key, record.encoded, ValueAttributes(expires: record.attributes.expires)))
  }

  /// The row of a key in the journal.
  enum Line {
    case none
    case record(SlotRecord)
    /// A row that is damaged.
    case unreadable
  }

  /// Returns the row of a key, as seen by a transaction.
  static func line(of key: KeyName, in transaction: SQLiteDatabase.Transaction) throws -> Line {
    do {
      guard let value = try transaction.storedValue(key) else { return .none }
      return value.withUnsafeBytes { SlotRecord($0) }.map { .record($0) } ?? .unreadable
    } catch let error as StorageError where error.code == .damaged {
      return .unreadable
    }
  }

  /// Returns the record of a key, read on the writer's connection.
  static func record(of key: KeyName, _ committer: GroupCommitter) throws -> SlotRecord? {
    try committer.statements.query(SQL.record, [key.blob]) { $0.blob(0) }.first
      .flatMap { $0.withUnsafeBytes { SlotRecord($0) } }
  }

  /// Returns all records, read on the writer's connection; `nil` for a damaged one.
  static func records(_ committer: GroupCommitter) throws -> [(key: KeyName, record: SlotRecord?)] {
    try committer.statements.query("SELECT key, \(ValueRow.value) FROM coffer_values", []) { row in
      row.blob(0).key.map { ($0, row.blob(1).withUnsafeBytes { SlotRecord($0) }) }
    }.compactMap { $0 }
  }

  /// Returns the keys of the intents that are not yet carried out.
  static func intendedKeys(in transaction: SQLiteDatabase.Transaction, of name: String) throws -> Set<KeyName> {
    Set(try transaction.query("SELECT key FROM coffer_intents") { try $0.blob(0).key.or(.damagedIntent(name)) })
  }

  // MARK: After the commit

  /// Returns the intents in commit order, including those carried out but not yet deleted.
  static func intents(_ statements: StatementCache, of location: String) throws -> [Intent] {
    try statements.query(SQL.intents, []) { row in
      let key = try row.blob(2).key.or(.damagedIntent(location))
      let staged = row.isNull(3) ? nil : row.blob(3)
      let mayBeLost = staged?.dropFirst(16) == unsynced
      // An unreadable version must not be read as `NULL`, which means a removal.
      return Intent(
        position: row.integer(0), revision: StoreRevision(UInt64(bitPattern: row.integer(1))), key: key,
        staged: try staged.map { try SlotID(mayBeLost ? $0.prefix(16) : $0).or(.damagedIntent(location)) },
        mayBeLost: mayBeLost,
        previous: row.isNull(4) ? nil : row.blob(4).withUnsafeBytes { SlotRecord($0) })
    }
  }

  /// Deletes the intents that were carried out. Those of failed keys stay, and their staged values are synced by now.
  static func forget(_ intents: [Intent], except failed: Set<KeyName>, _ committer: GroupCommitter) throws {
    guard let last = intents.last else { return }
    if failed.isEmpty {
      try committer.statements.execute("DELETE FROM coffer_intents WHERE position <= ?1", [.integer(last.position)])
    } else {
      for intent in intents where !failed.contains(intent.key) {
        try committer.statements.execute("DELETE FROM coffer_intents WHERE position = ?1", [.integer(intent.position)])
      }
      try committer.statements.execute(
        "UPDATE coffer_intents SET staged = substr(staged, 1, 16) WHERE length(staged) > 16", [])
    }
  }

  /// Records the stamp of a published version, if it is still the newest version of its key.
  static func note(_ stamp: SlotStamp?, of id: SlotID, _ key: KeyName, _ committer: GroupCommitter) throws {
    guard let record = try record(of: key, committer), record.id == id, record.stamp != stamp else { return }
    var noted = record
    noted.stamp = stamp
    try committer.rewrite(key, noted.encoded)
  }

  /// Replaces the record of a version, if it is still the newest version of its key.
  static func note(_ noted: SlotRecord, _ key: KeyName, _ committer: GroupCommitter) throws {
    guard let record = try record(of: key, committer), record.id == noted.id, record != noted else { return }
    try committer.rewrite(key, noted.encoded)
  }
}

extension StoreRevision {
  fileprivate var integer: SQLiteValue { .integer(Int64(bitPattern: rawValue)) }
}

extension KeyName {
  fileprivate var blob: SQLiteValue { .blob(Data(string.utf8)) }
}

extension Data {
  /// The bytes as a key, or `nil` if they are none.
  fileprivate var key: KeyName? { String(validating: self, as: UTF8.self).flatMap { try? KeyName($0) } }
}

extension Optional {
  fileprivate func or(_ error: StorageError) throws -> Wrapped {
    guard let self else { throw error }
    return self
  }
}

extension StorageError {
  fileprivate static func damagedIntent(_ location: String) -> StorageError {
    StorageError(
      .damaged, "The journal is damaged: its list of values to publish cannot be read.",
      advice:
        "Copy the store, then delete the journal while no process has the store open: it is rebuilt from the values.",
      location: location)
  }
}
