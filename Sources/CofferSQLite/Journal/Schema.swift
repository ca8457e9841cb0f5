import CofferCSQLite
import CofferCore
import Foundation

/// The tables of a store. `docs/formats/sqlite.md` describes them byte by byte.
enum Schema {
  /// The format that this build writes, and the newest one that it reads.
  static let format: Int64 = 3
  /// "CFFR", which lets `file` and other tools identify the database.
  private static let applicationID = 0x4346_4652

  /// Prepares the tables of a store that this build supports: creates them in an empty database, upgrades older ones.
  /// The read transaction of the connection ends if anything is written.
  /// - Returns: The facts about the store; `nil` if the database was empty.
  static func prepare(_ connection: Connection, mayCreate: Bool, clock: StoreClock) throws -> StoreMeta? {
    let wasEmpty = try !connection.hasTable("coffer_meta") && isEmpty(connection)
    if wasEmpty {
      connection.rollBack()
      try requireNeverUsed(connection)
      guard mayCreate else { throw missing(connection.file.description) }
      _ = coffer_sqlite_reserve(connection.handle, PageFile.reserve)
      try connection.requireWriteAheadLog()
      try create(connection, clock: clock)
    }
    var (meta, found) = try checkFormat(connection)
    // Another tool may have disabled it (VACUUM INTO, a backup): readers and writers would block each other.
    try connection.requireWriteAheadLog()
    if found < format {
      connection.rollBack()
      try FormatUpgrade.run(connection)
      meta = try StoreMeta(connection)
    }
    try requireSeals(connection, meta)
    return wasEmpty ? nil : meta
  }

  /// Returns the facts about a store, and its format.
  /// - Throws: `foreignFormat`, or `newerFormat` if this build does not support it.
  static func checkFormat(_ connection: Connection) throws -> (StoreMeta, format: Int64) {
    guard try connection.hasTable("coffer_meta") else {
      throw try ForeignDatabase(connection: connection, applicationID: applicationID).error()
    }
    let meta = try StoreMeta(connection)
    let found = meta.format
    guard found <= format else {
      throw StorageError(
        .newerFormat, "The store was written by a newer version: format \(found), this one reads up to \(format).",
        advice: "Update the application that opens it. Nothing was changed.", location: connection.file.description)
    }
    return (meta, found)
  }

  /// Verifies that page checksums are still enabled in a database that was created with them.
  /// - Throws: `damaged` if they are not.
  static func requireSeals(_ connection: Connection, _ meta: StoreMeta) throws {
    guard meta.isSealed, !connection.isSealed else { return }
    throw StorageError(
      .damaged, "The header of the database file is damaged: it no longer indicates page checksums.",
      advice: "Keep a copy of the file and its -wal file, then restore a backup.",
      location: connection.file.description)
  }

  /// Verifies that a store of values is not opened as the journal of an engine that keeps its values elsewhere, or the
  /// reverse.
  static func checkKind(_ connection: Connection, _ meta: StoreMeta, companionTables: String?) throws {
    let isJournal = meta.isJournalOnly
    guard isJournal != (companionTables != nil) else { return }
    if let companionTables, try connection.number("SELECT 1 FROM coffer_values LIMIT 1") == nil {
      return try connection.execute(
        "BEGIN IMMEDIATE; \(companionTables); INSERT OR IGNORE INTO coffer_meta VALUES ('slots', 1); COMMIT")
    }
    throw StorageError(
      .notAStore,
      isJournal
        ? "The file is the journal of a store that keeps its values elsewhere, for example in files."
        : "The file at the path of the journal is a separate store.",
      advice: isJournal
        ? "Open that store by its directory. Nothing was changed." : "Move it away. Nothing was changed.",
      location: connection.file.description)
  }

  /// Returns the definition of a value table. If `large` is set, `value` is empty and the value is the row of
  /// `coffer_large` with that identifier.
  static func valueTable(_ name: String) -> String {
    """
    CREATE TABLE \(name) (
      key BLOB PRIMARY KEY NOT NULL, revision INTEGER NOT NULL, checksum INTEGER NOT NULL, attributes BLOB,
      large INTEGER, value BLOB NOT NULL
    ) STRICT, WITHOUT ROWID
    """
  }

  /// The table of large values. They are stored apart because a key lookup in SQLite reads whole rows to compare them.
  /// The key column keeps a damaged identifier from replacing or removing the value of another key.
  static let largeTable =
    "CREATE TABLE coffer_large (id INTEGER PRIMARY KEY NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL) STRICT"

  static let journalTable = """
    CREATE TABLE coffer_journal (
      revision INTEGER PRIMARY KEY NOT NULL, epoch INTEGER NOT NULL, transaction_id BLOB NOT NULL,
      origin BLOB NOT NULL, committed_at INTEGER NOT NULL, changed BLOB NOT NULL, live_count INTEGER NOT NULL,
      live_digest INTEGER NOT NULL, checksum INTEGER NOT NULL, audit BLOB
    ) STRICT
    """

  static func missing(_ location: String) -> StorageError {
    StorageError(
      .notFound, "There is no store at this path.", advice: "Check the path, or create the store by writing to it.",
      location: location)
  }

  static func isEmpty(_ connection: Connection) throws -> Bool {
    try connection.number("SELECT count(*) FROM sqlite_schema") == 0
  }

  private static func create(_ connection: Connection, clock: StoreClock) throws {
    try connection.execute("BEGIN IMMEDIATE")
    defer { connection.rollBack() }
    // Another process may have created the tables meanwhile.
    guard try isEmpty(connection) else { return }
    try connection.execute(
      """
      PRAGMA application_id = \(applicationID);
      CREATE TABLE coffer_meta (name TEXT PRIMARY KEY NOT NULL, value ANY NOT NULL) STRICT, WITHOUT ROWID;
      \(valueTable("coffer_values"));
      \(valueTable("coffer_records"));
      \(largeTable);
      \(journalTable);
      CREATE TABLE coffer_quarantine (
        key BLOB NOT NULL, revision INTEGER NOT NULL, checksum INTEGER NOT NULL, found_at INTEGER NOT NULL,
        value BLOB NOT NULL, PRIMARY KEY (key, revision)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE coffer_migrations (name TEXT PRIMARY KEY NOT NULL, position INTEGER NOT NULL)
        STRICT, WITHOUT ROWID;
      INSERT INTO coffer_meta VALUES ('format', \(format)), ('created_at', \(clock.now().unixMilliseconds)),
        ('store', '\(UUID().uuidString)'), ('epoch', \(Int64.random(in: 1 ... .max)));
      """)
    if connection.isSealed { try connection.execute("INSERT INTO coffer_meta VALUES ('sealed', 1)") }
    try connection.execute("COMMIT")
  }
}
