import CofferCSQLite
import CofferCore
import Foundation

/// A row of the journal: `docs/formats/sqlite.md`, "coffer_journal".
struct JournalRow {
  let revision: StoreRevision
  let epoch: UInt64
  /// The transaction identifier; empty for an unaware writer, as is `origin`.
  let transaction: UnsafeRawBufferPointer
  let origin: UnsafeRawBufferPointer
  let committedAt: Int64
  let changed: UnsafeRawBufferPointer
  private(set) var live: LiveRows

  static let columns =
    "revision, epoch, transaction_id, origin, committed_at, changed, live_count, live_digest, checksum"
  static let insert = "INSERT INTO coffer_journal (\(columns)) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"
  /// The statement that updates a row's live count, digest and checksum.
  static let rewriteLive = """
    UPDATE coffer_journal SET live_count = ?2, live_digest = ?3, checksum = ?4 WHERE revision = ?1
    """
  /// The query of the newest row, which holds the live count and digest of the store.
  static let newest = "SELECT \(columns) FROM coffer_journal ORDER BY revision DESC LIMIT 1"

  /// Binds the row to ``insert``; its bytes are borrowed.
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

  /// Returns the current row of a statement over ``columns``, and whether its checksum matches. Its bytes are valid
  /// until the next step.
  static func read(_ statement: Statement) -> (row: JournalRow, isWhole: Bool) {
    let row = JournalRow(
      revision: StoreRevision(UInt64(bitPattern: statement.integer(0))),
      epoch: UInt64(bitPattern: statement.integer(1)),
      transaction: statement.bytes(2), origin: statement.bytes(3), committedAt: statement.integer(4),
      changed: statement.bytes(5),
      live: LiveRows(count: statement.integer(6), digest: UInt64(bitPattern: statement.integer(7))))
    return (row, Int64(row.checksum) == statement.integer(8))
  }

  /// Returns the row with a different live count and digest.
  func holding(_ live: LiveRows) -> JournalRow {
    var row = self
    row.live = live
    return row
  }

  /// The checksum of all columns, with the size of each variable-length column before its bytes.
  var checksum: UInt32 {
    let size = 52 + transaction.count + origin.count + changed.count
    return withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer in
      var position = 0
      func append(_ number: some FixedWidthInteger) {
        buffer.storeBytes(of: number.littleEndian, toByteOffset: position, as: type(of: number))
        position += MemoryLayout.size(ofValue: number)
      }
      func append(_ bytes: UnsafeRawBufferPointer) {
        append(UInt32(bytes.count))
        UnsafeMutableRawBufferPointer(rebasing: buffer[position...]).copyMemory(from: bytes)
        position += bytes.count
      }
      append(revision.rawValue)
      append(epoch)
      append(transaction)
      append(origin)
      append(changed)
      append(committedAt)
      append(live.count)
      append(live.digest)
      return crc(0, UnsafeRawBufferPointer(buffer))
    }
  }
}

extension StorageError {
  /// The error of an operation that needs the newest journal row when that row is damaged.
  static func damagedJournal(_ file: StoreFile) -> StorageError {
    StorageError(
      .damaged, "The newest journal entry is damaged, so the expected contents of the store are unknown.",
      advice: "Values can be read. Keep a copy, then run 'coffer verify --accept-loss' to accept the present contents.",
      location: file.description)
  }
}
