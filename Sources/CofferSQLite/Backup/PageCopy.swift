import CofferCSQLite
import CofferCore
import Foundation

/// Copies one state of a database into a new file, some pages at a time, while others go on writing.
///
/// It runs on one thread, which it blocks. A read transaction holds the state; without one SQLite would begin again
/// whenever somebody commits.
struct PageCopy {
  /// The database that is read.
  let source: StorePlace
  /// The file that is written: empty and nobody else's.
  let target: StorePlace
  let work: BackupWork

  private static let pagesPerStep: Int32 = 256

  /// Leaves one file that needs no log beside it and is not synced yet.
  func run() throws {
    let from = try Connection(source)
    try from.execute("PRAGMA query_only = ON; BEGIN")
    defer { from.rollBack() }
    _ = try from.number("SELECT count(*) FROM sqlite_schema")
    if from.isSealed { try prepareSeals(from.pageSize) }
    let into = try Connection(target)
    // Nobody needs half of it: it is synced once, when it is whole.
    try into.execute("PRAGMA locking_mode = EXCLUSIVE; PRAGMA synchronous = OFF")
    try Self.copy(from, into, work) { work.report(.copying, $0, of: $1, from.pageSize) }
    // Written in the mode of the source, and opened in it: from here on it is one file.
    guard try into.number("PRAGMA main.page_count") != nil else { return }
    try into.execute("PRAGMA journal_mode = DELETE")
  }

  /// An empty database whose pages have room for checksums, so that each page is written with its own.
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
  ///   - locked: called once nobody else can write to `into`, before anything is copied.
  ///   - progress: called with the pages that are copied and all of them.
  static func copy(
    _ from: Connection, _ into: Connection, _ work: BackupWork, locked: () throws -> Void = {},
    progress: (Int, Int) -> Void
  ) throws {
    guard let backup = sqlite3_backup_init(into.handle, "main", from.handle, "main") else {
      throw into.error(sqlite3_extended_errcode(into.handle))
    }
    var isFinished = false
    defer { if !isFinished { sqlite3_backup_finish(backup) } }  // undoes what was copied
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
