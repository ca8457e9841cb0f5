import CofferCSQLite
import CofferCore
import Foundation

/// A connection to an SQLite database, with its statements.
///
/// A connection is not thread-safe and takes no lock. The writer and the reader pool guarantee that each
/// connection is used by one caller at a time.
final class Connection {
  let handle: OpaquePointer
  let file: StoreFile
  /// The state of SQLite's busy handler.
  private let wait: UnsafeMutablePointer<LockWait>

  /// Opens an existing database file.
  init(_ file: StoreFile) throws {
    self.file = file
    try Self.checkLibrary(sqlite3_libversion_number(), file)
    var handle: OpaquePointer?
    guard PageVFS.registration == SQLITE_OK else {
      throw StorageError(.inputOutput, "SQLite cannot be set up in this process.", location: file.description)
    }
    let access = file.reading == nil ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let system = file.ignoresPageFaults ? PageVFS.salvagingName : PageVFS.name
    let code = sqlite3_open_v2(
      file.reading?.name(of: file) ?? file.path, &handle, flags, file.reading?.fileSystem ?? system)
    guard let handle else {
      throw StorageError(.inputOutput, "SQLite cannot allocate memory for a connection.", location: file.description)
    }
    self.handle = handle
    wait = .allocate(capacity: 1)
    wait.initialize(to: LockWait(milliseconds: file.busyTimeout))
    guard code == SQLITE_OK else { throw error(code) }
    setBusyHandler()
    coffer_sqlite_defensive(handle)
    allowsUnsealedPages = file.allowsUnsealedPages
    // A checkpoint requires the checkpoint lock (``Checkpointer``), so commits must not start one by themselves.
    sqlite3_wal_autocheckpoint(handle, 0)
    try file.reading?.prepare(self)
  }

  /// Opens the file that is at a path now, rather than one that is being replaced by a backup meanwhile, and begins a
  /// transaction to read from it.
  /// - Parameter closing: the words of its wake-up file before the opening.
  /// - Throws: `busy` if the file was replaced eight times in a row.
  static func toFile(at file: StoreFile, _ closing: WakeWords?) throws -> Connection {
    for _ in 0..<8 {
      let connection = try Connection(file)
      connection.allowsUnsealedPages = connection.mayHaveUnsealedPages(closing)
      // Waits for a process that is replacing the file. Errors in the file are reported by the first real read.
      try? connection.execute("BEGIN; PRAGMA schema_version")
      if coffer_sqlite_has_moved(connection.handle) == 0 { return connection }
    }
    throw StorageError(
      .busy, "The store was replaced repeatedly during the opening.", advice: "Try again. Nothing was changed.",
      location: file.description)
  }

  /// The oldest SQLite version with the features that are used here: STRICT tables and `sqlite3_total_changes64`.
  private static let oldestLibrary: Int32 = 3_037_000

  /// Checks the version of the SQLite library before anything is written with it.
  /// - Throws: `unsupported` if the library is too old.
  static func checkLibrary(_ number: Int32, _ file: StoreFile) throws(StorageError) {
    guard number < oldestLibrary else { return }
    func version(_ number: Int32) -> String { "\(number / 1_000_000).\(number / 1_000 % 1_000).\(number % 1_000)" }
    throw StorageError(
      .unsupported, "The SQLite library is too old: \(version(number)); version \(version(oldestLibrary)) is needed.",
      advice: "Install a newer SQLite library. Nothing was changed.", location: file.description)
  }

  deinit {
    // Statements may outlive the connection briefly if both are released together; `close_v2` waits for them.
    sqlite3_busy_handler(handle, nil, nil)
    sqlite3_close_v2(handle)
    wait.deallocate()
  }

  /// Whether a call waits while another process holds a lock that it needs.
  var waitsForLock = true {
    didSet { setBusyHandler() }
  }

  private func setBusyHandler() {
    sqlite3_busy_handler(handle, waitsForLock ? waitWhileBusy : nil, wait)
  }

  /// Runs `body` with `limit` as the time to wait for locks, instead of the store's configured timeout.
  func waiting<R>(_ limit: LockWait, _ body: () throws -> R) rethrows -> R {
    let usual = wait.pointee
    wait.pointee = limit
    defer { wait.pointee = usual }
    return try body()
  }

  /// How often the present wait for locks has paused.
  var pauses: Int { wait.pointee.pauses }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Runs statements that return nothing.
  func execute(_ sql: String) throws {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// Compiles a statement that is meant to be reused.
  func prepare(_ sql: String) throws -> Statement {
    try Statement(sql, on: self)
  }

  /// Runs a query and returns the first column of its first row as a number, or `nil` if there is no row.
  func number(_ sql: String) throws -> Int64? {
    let statement = try prepare(sql)
    return try statement.step() ? statement.integer(0) : nil
  }

  /// Whether the database has a table, in the definitions that this connection has read: cheaper than a statement.
  func hasTable(_ name: String) throws -> Bool {
    let code = sqlite3_table_column_metadata(handle, "main", name, nil, nil, nil, nil, nil, nil)
    guard code == SQLITE_OK || code == SQLITE_ERROR else { throw error(code) }
    return code == SQLITE_OK
  }

  /// Switches the file to a write-ahead log unless it has one, waiting for other processes that do the same.
  /// - Throws: `unsupported` if SQLite cannot keep a write-ahead log for the file; `busy` after the busy timeout.
  func requireWriteAheadLog() throws {
    if coffer_sqlite_main_file(handle)?.readHeader()?.hasLog == true { return }
    rollBack()  // The mode of a database changes outside of transactions.
    // SQLite does not call its busy handler here, since the switch upgrades a lock that the connection holds.
    var wait = LockWait(milliseconds: file.busyTimeout)
    while true {
      do {
        let statement = try prepare("PRAGMA journal_mode = WAL")
        defer { statement.reset() }
        guard try statement.step(), statement.text(0) == "wal" else {
          throw StorageError(
            .unsupported, "SQLite cannot keep a write-ahead log for this file.",
            advice: "Move the store to a local file system that supports shared memory. Nothing was changed.",
            location: file.description)
        }
        return
      } catch let error as StorageError where error.code == .busy && wait.pause() {
        continue
      }
    }
  }

  /// Gives up the cached pages that no statement uses.
  func releaseMemory() { sqlite3_db_release_memory(handle) }

  /// Rolls back the open transaction, if any. Does not throw: if this fails, SQLite has already rolled it back.
  func rollBack() {
    if isInTransaction { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
  }

  /// Returns the error for the result code of a failed call.
  func error(_ code: Int32, key: KeyName? = nil) -> StorageError {
    if code == coffer_sqlite_damaged_page { return damagedPage(key) }
    if code == SQLITE_BUSY, waitsForLock {
      return .busy(code, text: String(cString: sqlite3_errmsg(handle)), waited: file.busyTimeout, file: file)
    }
    return StorageError.sqlite(
      code, text: String(cString: sqlite3_errmsg(handle)), systemError: systemError(of: code), file: file,
      key: key)
  }

  /// Returns the `errno` of a failed call. SQLite reports none for a commit whose log could not be written; the log's
  /// file has it.
  private func systemError(of code: Int32) -> Int32 {
    let number = sqlite3_system_errno(handle)
    guard number == 0, code & 0xFF == SQLITE_IOERR else { return number }
    var log: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, nil, SQLITE_FCNTL_JOURNAL_POINTER, &log) == SQLITE_OK, let log,
      let methods = log.pointee.pMethods
    else { return 0 }
    var last: Int32 = 0
    return methods.pointee.xFileControl(log, SQLITE_FCNTL_LAST_ERRNO, &last) == SQLITE_OK ? last : 0
  }
}

/// SQLite's busy handler: pauses before SQLite tries again, until the connection's deadline.
private nonisolated func waitWhileBusy(_ context: UnsafeMutableRawPointer?, _ attempts: Int32) -> Int32 {
  guard let wait = context?.assumingMemoryBound(to: LockWait.self) else { return 0 }
  if attempts == 0 { wait.pointee.restart() }
  return wait.pointee.pause() ? 1 : 0
}
