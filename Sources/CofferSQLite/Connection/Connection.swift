import CofferCSQLite
import CofferCore
import Foundation

/// One SQLite connection with its statements.
///
/// A connection is not thread-safe and takes no lock of its own: whoever holds it is alone with it. The writer and the
/// reader pool see to that.
final class Connection {
  let handle: OpaquePointer
  let place: StorePlace

  /// Opens an existing database file.
  init(_ place: StorePlace) throws {
    self.place = place
    var handle: OpaquePointer?
    guard PageVFS.registration == SQLITE_OK else {
      throw StorageError(.inputOutput, "SQLite cannot be set up in this process.", backend: place.description)
    }
    let access = place.reading == nil ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    let flags = access | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
    let system = place.ignoresPageFaults ? PageVFS.salvagingName : PageVFS.name
    let code = sqlite3_open_v2(
      place.reading?.name(of: place) ?? place.path, &handle, flags, place.reading?.fileSystem ?? system)
    guard let handle else {
      throw StorageError(.inputOutput, "SQLite has no memory for a connection.", backend: place.description)
    }
    self.handle = handle
    guard code == SQLITE_OK else { throw error(code) }
    setBusyHandler()
    _ = coffer_sqlite_defensive(handle)
    allowsUnsealedPages = place.allowsUnsealedPages
    try place.reading?.prepare(self)
  }

  /// Opens the file that is at a place, and not one that is being replaced there by a backup just now.
  static func toFile(at place: StorePlace) throws -> Connection {
    for _ in 0..<8 {
      let connection = try Connection(place)
      // Waits for whoever is replacing it. What is wrong with the file is found by the first who looks for something.
      _ = try? connection.number("SELECT count(*) FROM sqlite_schema")
      if coffer_sqlite_has_moved(connection.handle) == 0 { return connection }
    }
    throw StorageError(
      .busy, "The store is being replaced all the time.", advice: "Try again. Nothing was changed.",
      backend: place.description)
  }

  deinit {
    // Statements outlive the connection by an instant when both are released together; v2 waits for them.
    sqlite3_close_v2(handle)
  }

  /// Whether a call waits while another process holds a lock that it needs.
  var waitsForLock = true {
    didSet { setBusyHandler() }
  }

  private func setBusyHandler() {
    let limit = UnsafeMutableRawPointer(bitPattern: place.busyAttempts)
    sqlite3_busy_handler(handle, waitsForLock ? waitWhileBusy : nil, limit)
  }

  /// Whether a transaction is open.
  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Runs statements that return nothing.
  func execute(_ sql: String) throws {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw error(code) }
  }

  /// Compiles a statement that is kept for the life of the connection.
  func prepare(_ sql: String) throws -> Statement {
    try Statement(sql, on: self)
  }

  /// Runs a statement that yields one number.
  func number(_ sql: String) throws -> Int64? {
    let statement = try prepare(sql)
    return try statement.step() ? statement.integer(0) : nil
  }

  /// Makes the file keep a write-ahead log, whatever it was before; waits while another process does the same.
  func requireWriteAheadLog() throws {
    // SQLite does not call its busy handler here: the switch needs a lock that it already half holds.
    for attempt in 0..<place.busyAttempts {
      do {
        let statement = try prepare("PRAGMA journal_mode = WAL")
        defer { statement.reset() }
        guard try statement.step(), statement.text(0) == "wal" else {
          throw StorageError(
            .unsupported, "SQLite cannot keep a write-ahead log for this file.",
            advice: "Put the store on a local file system that other processes can map. Nothing was changed.",
            backend: place.description)
        }
        return
      } catch let error as StorageError where error.code == .busy && attempt + 1 < place.busyAttempts {
        pause(beforeAttempt: attempt)
      }
    }
  }

  /// Leaves the transaction, if one is open, undoing it. Never throws: SQLite has already undone it when this fails.
  func rollBack() {
    if isInTransaction { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
  }

  /// What a failed call means, in words.
  func error(_ code: Int32, key: Key? = nil) -> StorageError {
    if code == coffer_sqlite_damaged_page { return damagedPage(key) }
    return StorageError.sqlite(
      code, text: String(cString: sqlite3_errmsg(handle)), systemError: sqlite3_system_errno(handle), place: place,
      key: key)
  }
}

/// Waits a little and lets SQLite try again for the write lock: 0.1 ms first, 5 ms in the end.
private nonisolated func waitWhileBusy(_ limit: UnsafeMutableRawPointer?, _ attempts: Int32) -> Int32 {
  guard Int(attempts) < Int(bitPattern: limit) else { return 0 }
  pause(beforeAttempt: Int(attempts))
  return 1
}

private nonisolated func pause(beforeAttempt attempt: Int) {
  var pause = timespec(tv_sec: 0, tv_nsec: min(100_000 << min(attempt, 6), 5_000_000))
  nanosleep(&pause, nil)
}
