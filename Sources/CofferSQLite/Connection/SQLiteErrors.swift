import CofferCSQLite
import CofferCore
import Foundation

/// The database file of a store, and the settings with which connections open it.
package struct StoreFile: Sendable {
  /// The canonical path of the database file.
  package let path: String
  /// How many milliseconds a connection waits for a lock that another process holds.
  let busyTimeout: Int
  /// The location of the store in messages; `nil` for `sqlite:` and its path.
  var name: String?
  /// The way in which the file is read if it cannot be written; `nil` if it can be written.
  var reading: ReadingMode?
  /// Whether pages without a checksum are accepted.
  var allowsUnsealedPages = false
  /// Whether damaged pages are read without an error.
  var ignoresPageFaults = false

  var logPath: String { path + "-wal" }
  var wakePath: String { path + "-wake" }
  var lockPath: String { path + "-lock" }
  var sharedMemoryPath: String { path + "-shm" }
  var description: String { name ?? "sqlite:\(path)" }
}

extension StorageError {
  /// Converts an SQLite result code. All SQLite errors are converted here.
  static func sqlite(
    _ code: Int32, text: String, systemError: Int32, file: StoreFile, key: KeyName? = nil
  ) -> StorageError {
    let cause = SQLiteFailure(code: code, systemError: systemError)
    var detail = text
    if systemError != 0 { detail += "; " + String(cString: strerror(systemError)) }
    return StorageError(
      cause.code, cause.message, advice: cause.advice, location: file.description, key: key,
      underlying: Underlying(domain: "SQLite", code: Int(code), text: detail))
  }

  /// Returns the error for a write lock that was not available within the timeout, naming the process that holds it.
  static func busy(_ code: Int32, text: String, waited milliseconds: Int, file: StoreFile) -> StorageError {
    let holder = LockHolder.ofWriteLock(file)
    let time = milliseconds < 1_000 ? "\(milliseconds) ms" : "\(Double(milliseconds / 100) / 10) s"
    let isForeign = holder.map { !$0.isThisProcess } ?? false
    return StorageError(
      .busy,
      "The store's write lock was not free within \(time)" + (holder.map { ": \($0.description) holds it." } ?? "."),
      advice: isForeign
        ? "Nothing was written. Try again; if that process hangs, end it: its uncommitted changes are rolled back."
        : "Nothing was written. Try again, or look for a transaction that does not end.",
      location: file.description, underlying: Underlying(domain: "SQLite", code: Int(code), text: text))
  }

  /// Converts the `errno` of a failed system call.
  static func system(_ call: String, path: String, errno code: Int32, location: String) -> StorageError {
    let cause = SQLiteFailure(systemError: code)
    return StorageError(
      cause.code, cause.message, advice: cause.advice, location: location,
      underlying: Underlying(
        domain: "errno", code: Int(code), text: "\(call) \(path): \(String(cString: strerror(code)))"))
  }
}

/// The code, message and advice for a failure of SQLite or of a system call.
private struct SQLiteFailure {
  let code: StorageError.Code
  let message: String
  let advice: String

  private init(_ code: StorageError.Code, _ message: String, _ advice: String) {
    self.code = code
    self.message = message
    self.advice = advice
  }

  init(code: Int32, systemError: Int32) {
    switch code & 0xFF {
    case SQLITE_BUSY, SQLITE_LOCKED:
      self.init(
        .busy, "Another connection held a lock of the store for too long.",
        "Nothing was written. Try again, or look for a process that hangs in a transaction.")
    case SQLITE_FULL: self.init(systemError: ENOSPC)
    case SQLITE_CORRUPT:
      self.init(
        .damaged, "The database file is damaged: its pages are inconsistent.",
        "Keep a copy of the file and its -wal file, then restore a backup. Nothing was changed.")
    case SQLITE_NOTADB:
      self.init(
        .notAStore, "The file is not a database.",
        "Give the path of a store, or of a file that does not exist yet. Nothing was changed.")
    case SQLITE_TOOBIG:
      self.init(.valueTooLarge, "The value is larger than SQLite allows.", "Split it. Nothing was written.")
    case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: self.init(systemError: EACCES)
    case SQLITE_PROTOCOL: self.init(code: SQLITE_BUSY, systemError: 0)
    case SQLITE_CANTOPEN where systemError == 0 || systemError == ENOENT:
      self.init(
        .inputOutput, "SQLite cannot open the store's file, or its log beside it.",
        "Check that both are still there. Nothing was changed.")
    case SQLITE_CANTOPEN: self.init(systemError: systemError)
    // A file that disappears while in use is an I/O error, not a missing store.
    case SQLITE_IOERR: self.init(systemError: systemError == ENOENT ? EIO : systemError)
    case SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE, SQLITE_MISUSE:
      self.init(
        .statementFailed, "A statement on the application's own tables failed.",
        "Its transaction was not committed. The detail names the table and the constraint.")
    default: self.init(systemError: 0)
    }
  }

  init(systemError: Int32) {
    switch systemError {
    case ENOSPC, EDQUOT:
      self.init(
        .diskFull, "No space is left on the device.",
        "Nothing was written and everything stored before is still there. Free some space and try again.")
    case EACCES, EPERM, EROFS:
      self.init(
        .permissionDenied, "The store cannot be opened: permission denied.",
        "Give this user write permission for the file and its directory: reading needs it too, since SQLite keeps its "
          + "log beside the file.")
    case EISDIR:
      self.init(.notAStore, "There is a directory where the database file should be.", "Give the path of a file.")
    case ENOENT:
      // `notFound` is reported only by an explicit check; here an expected file is missing.
      self.init(
        .inputOutput, "A file or directory of the store is missing.",
        "Open the store again. The latest values may be in the files that were there before.")
    case EMFILE, ENFILE:
      self.init(
        .inputOutput, "The process has too many files open.",
        "Close some, or raise the limit (ulimit -n). Nothing was written by this call.")
    case EFBIG:
      self.init(
        .inputOutput, "The store's file would become larger than this process or the file system allows.",
        "Nothing was written by this call. Raise the limit of the process (ulimit -f), or move the store.")
    case ENOTDIR, ELOOP, ENAMETOOLONG:
      self.init(.inputOutput, "The path of the store leads nowhere.", "Check the path. Nothing was changed.")
    default:
      self.init(
        .inputOutput, "The store's file could not be read or written.",
        "Nothing was written by this call. Check the device and the file system.")
    }
  }
}
