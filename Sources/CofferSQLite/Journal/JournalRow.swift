import CofferCSQLite
import CofferCore
import Foundation

/// One row of the journal: `docs/formats/sqlite.md`, "coffer_journal".
struct JournalRow {
  let revision: StoreRevision
  let epoch: UInt64
  /// Empty for a writer that does not know us, as `origin` is.
  let transaction: UnsafeRawBufferPointer
  let origin: UnsafeRawBufferPointer
  let committedAt: Int64
  let changed: UnsafeRawBufferPointer
  private(set) var live: LiveRows

  static let columns =
    "revision, epoch, transaction_id, origin, committed_at, changed, live_count, live_digest, checksum"
  static let insert = "INSERT INTO coffer_journal (\(columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
  /// Writes into a row what the store holds now, and the row's new checksum.
  static let rewriteLive = """
    UPDATE coffer_journal SET live_count = ?2, live_digest = ?3, checksum = ?4 WHERE revision = ?1
    """
  /// The newest row: it says what the store holds.
  static let newest = "SELECT \(columns) FROM coffer_journal ORDER BY revision DESC LIMIT 1"

  /// Binds a row to ``insert``; its bytes are borrowed.
  func bind(to statement: Statement) {
    statement.bind(1, Int64(bitPattern: revision.rawValue))
    statement.bind(2, Int64(bitPattern: epoch))
    statement.bind(3, borrowing: transaction)
    statement.bind(4, borrowing: origin)
    statement.bind(5, committedAt)
    statement.bind(6, borrowing: changed)
    statement.bind(7, live.count)
    statement.bind(8, Int64(bitPattern: live.digest))
    statement.bind(9, Int64(checksum))
  }

  /// The row that a statement over ``columns`` is at, and whether it is as it was written; its bytes are valid until
  /// the next step.
  static func read(_ statement: Statement) -> (row: JournalRow, isWhole: Bool) {
    let row = JournalRow(
      revision: StoreRevision(UInt64(bitPattern: statement.integer(0))),
      epoch: UInt64(bitPattern: statement.integer(1)),
      transaction: statement.bytes(2), origin: statement.bytes(3), committedAt: statement.integer(4),
      changed: statement.bytes(5),
      live: LiveRows(count: statement.integer(6), digest: UInt64(bitPattern: statement.integer(7))))
    return (row, Int64(row.checksum) == statement.integer(8))
  }

  /// The same row for a store whose rows have changed.
  func holding(_ live: LiveRows) -> JournalRow {
    var row = self
    row.live = live
    return row
  }

  /// Of everything in the row, each part behind its size where that varies.
  var checksum: UInt32 {
    var sum = crc(0, revision.rawValue.littleEndian)
    sum = crc(sum, epoch.littleEndian)
    for bytes in [transaction, origin, changed] { sum = crc(crc(sum, UInt32(bytes.count).littleEndian), bytes) }
    sum = crc(sum, committedAt.littleEndian)
    sum = crc(sum, live.count.littleEndian)
    return crc(sum, live.digest.littleEndian)
  }
}

extension StorageError {
  /// What whoever needs the journal's newest row is told when that row is damaged.
  static func damagedJournal(_ place: StorePlace) -> StorageError {
    StorageError(
      .damaged, "The newest entry of the journal is damaged: what the store should hold is not known.",
      advice: "Values can be read. Keep a copy, then run 'coffer verify --accept-loss' to go on with what is there.",
      backend: place.description)
  }
}
