import CofferCSQLite
import CofferCore
import Foundation

/// Brings a store of an earlier format up, in one commit.
///
/// Of the first, pages had no checksums, journal rows neither, and the checksum of a value did not cover its revision.
/// The second had no attributes, no records of the library's own, and all values in the rows of their keys.
enum FormatUpgrade {
  static func run(_ connection: Connection) throws {
    try upgradeTables(connection)
    // Without the space or the quiet that it needs the store works, and `coffer verify --upgrade` tries again.
    do { try seal(connection) } catch let error as StorageError where error.code != .damaged {}
  }

  /// Gives the pages of a database room for their checksums, by writing all of it anew.
  static func seal(_ connection: Connection) throws {
    guard !connection.isSealed else { return }
    _ = coffer_sqlite_reserve(connection.handle, PageFile.reserve)
    try connection.execute("VACUUM")
    // The first page says so once the log has been copied.
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

  /// Gives values columns for attributes and their own rows, and makes the tables of records and large values. No row
  /// is touched, so a damaged page stays its own affair; a value moves when it is written again. Handles of an earlier
  /// version that are still open end: what they write would keep old attributes.
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
      // How many values there were at older revisions is not known; nothing asks.
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

  /// Writes the checksums anew. What was damaged stays damaged.
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
