import CofferCSQLite
import CofferCore
import Foundation

/// A copy of one state of a database into a new file, a few pages at a time, while other connections keep writing.
///
/// The copy blocks the thread that it runs on. A read transaction holds the state; without it, SQLite would restart the
/// copy after every commit.
struct PageCopy {
  /// The database to copy.
  let source: StoreFile
  /// The file to write: empty, and not used by another connection.
  let target: StoreFile
  let work: BackupWork

  private static let pagesPerStep: Int32 = 256

  /// Copies the database. The result is a single file without a write-ahead log, which is not synced yet.
  func run() throws {
    let from = try Connection(source)
    try from.execute("PRAGMA query_only = ON; BEGIN")
    defer { from.rollBack() }
    _ = try from.number("SELECT count(*) FROM sqlite_schema")
    if from.isSealed { try prepareSeals(from.pageSize) }
    let into = try Connection(target)
    // An incomplete copy is of no use, so the file is synced once, when it is complete.
    try into.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF")
    try Self.copy(from, into, work) { work.report(.copying, $0, of: $1, from.pageSize) }
    // The copy has the journal mode of the source; switching it leaves a single file.
    guard try into.number("PRAGMA main.page_count") != nil else { return }
    try into.execute("PRAGMA journal_mode = DELETE")
  }

  /// Creates an empty database whose pages reserve space for checksums, so that each page is written with one.
  private func prepareSeals(_ pageSize: Int) throws {
    let empty = try Connection(target)
    _ = coffer_sqlite_reserve(empty.handle, PageFile.reserve)
    try empty.execute(
      """
      PRAGMA page_size = \(pageSize); PRAGMA synchronous = OFF; CREATE TABLE prepared (a); DROP TABLE prepared
      """)
  }

  /// Copies all pages in one transaction of `into`.
  /// - Parameters:
  ///   - locked: called once `into` is locked against other writers, before the first page is copied.
  ///   - progress: called after each step with the number of pages copied and the total number of pages.
  static func copy(
    _ from: Connection, _ into: Connection, _ work: BackupWork, locked: () throws -> Void = {},
    progress: (Int, Int) -> Void
  ) throws {
    guard let backup = sqlite3_backup_init(into.handle, "main", from.handle, "main") else {
      throw into.error(sqlite3_extended_errcode(into.handle))
    }
    var isFinished = false
    defer { if !isFinished { sqlite3_backup_finish(backup) } }  // rolls the copy back
    var code = sqlite3_backup_step(backup, 0)
    if code == SQLITE_OK { try locked() }
    while code == SQLITE_OK {
      try work.checkCancellation()
      code = sqlite3_backup_step(backup, pagesPerStep)
      let all = Int(sqlite3_backup_pagecount(backup))
      progress(all - Int(sqlite3_backup_remaining(backup)), all)
    }
    isFinished = true
    let end = sqlite3_backup_finish(backup)
    guard code == SQLITE_DONE, end == SQLITE_OK else {
      let failure = code == SQLITE_DONE || code == SQLITE_OK ? end : code
      throw isOfSource(failure) ? from.error(failure) : into.error(failure)
    }
  }

  private static func isOfSource(_ code: Int32) -> Bool {
    let damage = code == coffer_sqlite_damaged_page || [SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xFF)
    return damage || code == coffer_sqlite_failed_read || code == coffer_sqlite_short_read
  }
}
