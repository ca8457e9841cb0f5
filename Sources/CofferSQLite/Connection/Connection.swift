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
  /// What SQLite's busy handler counts with.
  private let wait: UnsafeMutablePointer<LockWait>

  /// Opens an existing database file.
  init(_ place: StorePlace) throws {
    self.place = place
    try Self.checkLibrary(sqlite3_libversion_number(), place)
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
    wait = .allocate(capacity: 1)
    wait.initialize(to: LockWait(milliseconds: place.busyTimeout))
    guard code == SQLITE_OK else { throw error(code) }
    setBusyHandler()
    _ = coffer_sqlite_defensive(handle)
    allowsUnsealedPages = place.allowsUnsealedPages
    // Whoever copies the log holds a lock of ours meanwhile (``Checkpointer``): no commit does it by itself.
    sqlite3_wal_autocheckpoint(handle, 0)
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

  /// The oldest SQLite that has what is used here: STRICT tables, and `sqlite3_total_changes64`.
  private static let oldestLibrary: Int32 = 3_037_000

  /// Refuses a library that is too old, before anything is written with it.
  static func checkLibrary(_ number: Int32, _ place: StorePlace) throws(StorageError) {
    guard number < oldestLibrary else { return }
    func version(_ number: Int32) -> String { "\(number / 1_000_000).\(number / 1_000 % 1_000).\(number % 1_000)" }
    throw StorageError(
      .unsupported, "The SQLite library is too old: \(version(number)); version \(version(oldestLibrary)) is needed.",
      advice: "Install a newer SQLite library. Nothing was changed.", backend: place.description)
  }

  deinit {
    // Statements outlive the connection by an instant when both are released together; v2 waits for them.
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

  /// Lets `body` wait for locks as `limit` says, not as long as the store is configured to.
  func waiting<R>(_ limit: LockWait, _ body: () throws -> R) rethrows -> R {
    let usual = wait.pointee
    wait.pointee = limit
    defer { wait.pointee = usual }
    return try body()
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
    var wait = LockWait(milliseconds: place.busyTimeout)
    while true {
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
      } catch let error as StorageError where error.code == .busy && wait.pause() {
        continue
      }
    }
  }

  /// Leaves the transaction, if one is open, undoing it. Never throws: SQLite has already undone it when this fails.
  func rollBack() {
    if isInTransaction { sqlite3_exec(handle, "ROLLBACK", nil, nil, nil) }
  }

  /// What a failed call means, in words.
  func error(_ code: Int32, key: StoreKey? = nil) -> StorageError {
    if code == coffer_sqlite_damaged_page { return damagedPage(key) }
    if code == SQLITE_BUSY, waitsForLock {
      return .busy(code, text: String(cString: sqlite3_errmsg(handle)), waited: place.busyTimeout, place: place)
    }
    return StorageError.sqlite(
      code, text: String(cString: sqlite3_errmsg(handle)), systemError: sqlite3_system_errno(handle), place: place,
      key: key)
  }
}

/// Waits a little and lets SQLite try again, until the connection's deadline.
private nonisolated func waitWhileBusy(_ context: UnsafeMutableRawPointer?, _ attempts: Int32) -> Int32 {
  guard let wait = context?.assumingMemoryBound(to: LockWait.self) else { return 0 }
  if attempts == 0 { wait.pointee.restart() }
  return wait.pointee.pause() ? 1 : 0
}
