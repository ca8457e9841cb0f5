import BenchSQLite
import Coffer
import Foundation

/// A store that writes the value and journal rows of Coffer through the C interface, with equal settings.
final class SQLiteByHand {
  let handle: OpaquePointer
  private let put, journal, get, begin, commit: OpaquePointer
  private var revision: Int64 = 0
  private var newest: OpaquePointer?
  private let transaction = Array(repeating: UInt8(7), count: 16)

  /// - Parameter checksPages: Whether to use the library's VFS, which is registered once a store was opened.
  init(_ path: String, synchronous: String, creates: Bool = true, checksPages: Bool = false) throws {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | (creates ? SQLITE_OPEN_CREATE : 0) | SQLITE_OPEN_NOMUTEX
    let code = sqlite3_open_v2(path, &handle, flags, checksPages ? "coffer" : nil)
    guard let handle, code == SQLITE_OK else { throw Failure("cannot open \(path)") }
    self.handle = handle
    if checksPages { bench_sqlite_reserve(handle, 8) }
    sqlite3_busy_timeout(handle, 60_000)
    for sql in [
      "PRAGMA journal_mode = WAL", "PRAGMA synchronous = \(synchronous)", "PRAGMA cache_size = -8192",
      "PRAGMA wal_autocheckpoint = 1000",
      creates
        ? "CREATE TABLE IF NOT EXISTS coffer_values (key BLOB PRIMARY KEY NOT NULL, revision INTEGER NOT NULL, "
          + "checksum INTEGER NOT NULL, value BLOB NOT NULL) STRICT, WITHOUT ROWID" : "SELECT 1",
      creates
        ? "CREATE TABLE IF NOT EXISTS coffer_journal (revision INTEGER PRIMARY KEY NOT NULL, "
          + "transaction_id BLOB NOT NULL, origin BLOB NOT NULL, committed_at INTEGER NOT NULL, "
          + "changed BLOB NOT NULL, audit BLOB) STRICT" : "SELECT 1",
    ] {
      guard sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK else { throw Failure("\(sql) failed") }
    }
    func prepare(_ sql: String) -> OpaquePointer? {
      var statement: OpaquePointer?
      sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
      return statement
    }
    guard
      let put = prepare(
        "INSERT INTO coffer_values (key, revision, checksum, value) VALUES (?1, ?2, ?3, ?4) ON CONFLICT (key) DO "
          + "UPDATE SET revision = excluded.revision, checksum = excluded.checksum, value = excluded.value"),
      let journal = prepare(
        "INSERT INTO coffer_journal (revision, transaction_id, origin, committed_at, changed) VALUES (?1,?2,?3,?4,?5)"),
      let get = prepare("SELECT revision, checksum, value FROM coffer_values WHERE key = ?1"),
      let begin = prepare("BEGIN IMMEDIATE"), let commit = prepare("COMMIT")
    else { throw Failure("prepare failed") }
    (self.put, self.journal, self.get, self.begin, self.commit) = (put, journal, get, begin, commit)
  }

  deinit {
    for statement in [put, journal, get, begin, commit, newest] { sqlite3_finalize(statement) }
    sqlite3_close_v2(handle)
  }

  /// Makes each transaction read the revision from the journal, as required with concurrent writers.
  func sharesWithOthers() {
    sqlite3_prepare_v3(
      handle, "SELECT max(revision) FROM coffer_journal", -1, UInt32(SQLITE_PREPARE_PERSISTENT), &newest, nil)
  }

  func transact(_ body: () -> Void) {
    run(begin)
    if let newest {
      sqlite3_step(newest)
      revision = sqlite3_column_int64(newest, 0)
      sqlite3_reset(newest)
    }
    body()
    run(commit)
  }

  func write(_ key: [UInt8], _ value: [UInt8]) {
    putValue(key, value)
    putJournal(key)
  }

  func putValue(_ key: [UInt8], _ value: [UInt8]) {
    sqlite3_bind_blob(put, 1, key, Int32(key.count), nil)
    sqlite3_bind_int64(put, 2, revision + 1)
    sqlite3_bind_int64(put, 3, 12_345)
    sqlite3_bind_blob(put, 4, value, Int32(value.count), nil)
    run(put)
  }

  func putJournal(_ changed: [UInt8]) {
    revision += 1
    sqlite3_bind_int64(journal, 1, revision)
    sqlite3_bind_blob(journal, 2, transaction, 16, nil)
    sqlite3_bind_blob(journal, 3, transaction, 16, nil)
    sqlite3_bind_int64(journal, 4, 1_700_000_000_000)
    sqlite3_bind_blob(journal, 5, changed, Int32(changed.count), nil)
    run(journal)
  }

  func read(_ key: [UInt8]) -> Data? {
    sqlite3_bind_blob(get, 1, key, Int32(key.count), nil)
    defer { sqlite3_reset(get) }
    guard sqlite3_step(get) == SQLITE_ROW, let bytes = sqlite3_column_blob(get, 2) else { return nil }
    return Data(bytes: bytes, count: Int(sqlite3_column_bytes(get, 2)))
  }

  private func run(_ statement: OpaquePointer) {
    let code = sqlite3_step(statement)
    precondition(code == SQLITE_DONE, "SQLite returned \(code): \(String(cString: sqlite3_errmsg(handle)))")
    sqlite3_reset(statement)
  }
}

/// The lower bound of a durable commit: overwriting one page and syncing it to the device.
final class RawFile {
  private let descriptor: Int32
  private var page = [UInt8](repeating: 1, count: 4_096)
  private var index = 0
  private static let pages = 1_000

  init(_ path: String) throws {
    descriptor = open(path, O_RDWR | O_CREAT, 0o600)
    guard descriptor >= 0 else { throw Failure("cannot open \(path)") }
    for page in 0..<Self.pages { pwrite(descriptor, self.page, 4_096, off_t(page * 4_096)) }
    fsync(descriptor)
  }

  deinit { close(descriptor) }

  func writePage() {
    index += 1
    page[0] = UInt8(truncatingIfNeeded: index)
    page[1] = UInt8(truncatingIfNeeded: index >> 8)
    pwrite(descriptor, page, 4_096, off_t((index % Self.pages) * 4_096))
    fdatasync(descriptor)
  }
}

struct Failure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
