import CofferCSQLite
import CofferCore
import Foundation

/// The upgrade of a store from an earlier format, in one transaction.
///
/// In format 1, neither pages nor journal rows have checksums, and the checksum of a value does not cover its revision.
/// In format 2, there are no attributes and no system records, and all values are in the rows of their keys.
enum FormatUpgrade {
  static func run(_ connection: Connection) throws {
    try upgradeTables(connection)
    // The store works without page checksums if disk space or locks are missing; `coffer verify --upgrade` tries again.
    do { try seal(connection) } catch let error as StorageError where error.code != .damaged {}
  }

  /// Rewrites a database so that its pages reserve space for their checksums.
  static func seal(_ connection: Connection) throws {
    guard !connection.isSealed else { return }
    _ = coffer_sqlite_reserve(connection.handle, PageFile.reserve)
    try connection.execute("VACUUM")
    // The first page in the database file is updated when the log is copied.
    try connection.emptyLog()
    if connection.isSealed { try connection.execute("INSERT OR REPLACE INTO coffer_meta VALUES ('sealed', 1)") }
  }

  private static func upgradeTables(_ connection: Connection) throws {
    try connection.execute("BEGIN IMMEDIATE")
    defer { connection.rollBack() }
    let found = try connection.number("SELECT value FROM coffer_meta WHERE name = 'format'") ?? 0
    guard found < Schema.format else { return }  // Another process was first.
    if found == 1 { try upgradeRows(connection) }
    if found <= 2 { try addAttributes(connection) }
    try connection.execute("INSERT OR REPLACE INTO coffer_meta VALUES ('format', \(Schema.format)); COMMIT")
  }

  /// Adds the columns for attributes and large values, and the tables of system records and large values.
  ///
  /// No row is rewritten, so a damaged page does not prevent the upgrade; a large value moves when it is next written.
  /// Open handles of an earlier version end, since their writes would keep outdated attributes.
  private static func addAttributes(_ connection: Connection) throws {
    try connection.execute(
      """
      ALTER TABLE coffer_values ADD COLUMN attributes BLOB;
      ALTER TABLE coffer_values ADD COLUMN large INTEGER;
      \(Schema.valueTable("coffer_records"));
      \(Schema.largeTable);
      INSERT OR REPLACE INTO coffer_meta VALUES ('restored', \(Int64.random(in: 1 ... .max)))
      """)
  }

  private static func upgradeRows(_ connection: Connection) throws {
    let epoch = Int64.random(in: 1 ... .max)
    let live = try upgradeValues(connection)
    try connection.execute("ALTER TABLE coffer_journal RENAME TO coffer_journal_1; \(Schema.journalTable)")
    let old = try connection.prepare(
      "SELECT revision, transaction_id, origin, committed_at, changed FROM coffer_journal_1 ORDER BY revision")
    let insert = try connection.prepare(JournalRow.insert)
    while try old.step() {
      // The count and digest at older revisions are unknown, and only those of the newest one are used.
      JournalRow(
        revision: StoreRevision(UInt64(bitPattern: old.integer(0))), epoch: UInt64(bitPattern: epoch),
        transaction: old.bytes(1), origin: old.bytes(2), committedAt: old.integer(3), changed: old.bytes(4), live: live
      ).bind(to: insert)
      try insert.run()
    }
    old.reset()
    try connection.execute(
      """
      DROP TABLE coffer_journal_1;
      INSERT OR REPLACE INTO coffer_meta VALUES ('epoch', \(epoch))
      """)
  }

  /// Recomputes the checksums of all values. A damaged value receives a wrong checksum, so that it stays damaged.
  private static func upgradeValues(_ connection: Connection) throws -> LiveRows {
    let page = try connection.prepare(
      "SELECT key, revision, checksum, value FROM coffer_values WHERE key > ?1 ORDER BY key LIMIT 64")
    let update = try connection.prepare("UPDATE coffer_values SET checksum = ?2 WHERE key = ?1")
    var live = LiveRows()
    var last = Data()
    while true {
      var sums: [(key: Data, sum: UInt32)] = []
      last.withUnsafeBytes { page.bind(1, copying: $0) }
      while try page.step() {
        let (key, revision) = (page.data(0), page.integer(1))
        let old = key.withUnsafeBytes { crc(crc(0, $0), page.bytes(3)) }
        var sum = crc(0, UInt16(truncatingIfNeeded: key.count).littleEndian)
        sum = key.withUnsafeBytes { crc(sum, $0) }
        sum = crc(crc(sum, page.bytes(3)), UInt64(bitPattern: revision).littleEndian)
        if Int64(old) != page.integer(2) { sum = ~sum }
        sums.append((key, sum))
        live.add(LiveRows.digest(revision: revision, checksum: Int64(sum)))
      }
      page.reset()
      guard let end = sums.last?.key else { return live }
      for (key, sum) in sums {
        key.withUnsafeBytes { update.bind(1, copying: $0) }
        update.bind(2, Int64(sum))
        try update.run()
      }
      last = end
    }
  }
}
