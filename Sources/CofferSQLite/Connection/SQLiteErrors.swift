import CofferCSQLite
import CofferCore
import Foundation

/// Where a store is and how messages call it.
package struct StorePlace: Sendable {
  /// The canonical path of the database file.
  package let path: String
  /// How long a connection waits for a lock that another process holds, in milliseconds.
  let busyTimeout: Int
  /// What messages call it in place of its path.
  var name: String?
  /// How it is read where it cannot be written; `nil` where it can.
  var reading: ReadingMode?
  /// Whether pages without a checksum are taken as they are.
  var allowsUnsealedPages = false
  /// Whether damaged pages are read all the same.
  var ignoresPageFaults = false

  var logPath: String { path + "-wal" }
  var wakePath: String { path + "-wake" }
  var lockPath: String { path + "-lock" }
  var sharedMemoryPath: String { path + "-shm" }
  var description: String { name ?? "sqlite:\(path)" }
}

extension StorageError {
  /// Translates an SQLite result code: the one place where that happens.
  static func sqlite(
    _ code: Int32, text: String, systemError: Int32, place: StorePlace, key: StoreKey? = nil
  ) -> StorageError {
    let cause = SQLiteFailure(code: code, systemError: systemError)
    var detail = text
    if systemError != 0 { detail += "; " + String(cString: strerror(systemError)) }
    return StorageError(
      cause.code, cause.message, advice: cause.advice, backend: place.description, key: key,
      underlying: Underlying(domain: "SQLite", code: Int(code), text: detail))
  }

  /// The error of a wait for the write lock that has ended without it; names the process that holds it.
  static func busy(_ code: Int32, text: String, waited milliseconds: Int, place: StorePlace) -> StorageError {
    let holder = LockHolder.ofWriteLock(place)
    let time = milliseconds < 1_000 ? "\(milliseconds) ms" : "\(Double(milliseconds / 100) / 10) s"
    let isForeign = holder.map { !$0.isThisProcess } ?? false
    return StorageError(
      .busy,
      "The store's write lock was not free within \(time)" + (holder.map { ": \($0.description) has it." } ?? "."),
      advice: isForeign
        ? "Nothing was written. Try again; if that process hangs, end it: what it has not committed is undone."
        : "Nothing was written. Try again, or look for a transaction that does not end.",
      backend: place.description, underlying: Underlying(domain: "SQLite", code: Int(code), text: text))
  }

  /// Translates the present `errno` of a failed system call.
  static func system(_ call: String, path: String, errno code: Int32, backend: String) -> StorageError {
    let cause = SQLiteFailure(systemError: code)
    return StorageError(
      cause.code, cause.message, advice: cause.advice, backend: backend,
      underlying: Underlying(
        domain: "errno", code: Int(code), text: "\(call) \(path): \(String(cString: strerror(code)))"))
  }
}

/// What a failure means for the person who reads about it.
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
        .busy, "A lock of the store was held elsewhere for too long.",
        "Nothing was written. Try again, or look for a process that hangs in a transaction.")
    case SQLITE_FULL: self.init(systemError: ENOSPC)
    case SQLITE_CORRUPT:
      self.init(
        .damaged, "The database file is damaged: its pages do not fit together.",
        "Keep a copy of the file and its -wal file, then restore a backup. Nothing was changed.")
    case SQLITE_NOTADB:
      self.init(
        .notAStore, "The file is not a database.",
        "Give the path of a store, or of a file that does not exist yet. Nothing was changed.")
    case SQLITE_TOOBIG:
      self.init(.valueTooLarge, "The value is larger than SQLite takes.", "Split it. Nothing was written.")
    case SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH: self.init(systemError: EACCES)
    case SQLITE_PROTOCOL: self.init(code: SQLITE_BUSY, systemError: 0)
    case SQLITE_CANTOPEN where systemError == 0 || systemError == ENOENT:
      self.init(
        .inputOutput, "SQLite cannot open the store's file, or its log beside it.",
        "Check that both are still there. Nothing was changed.")
    case SQLITE_CANTOPEN: self.init(systemError: systemError)
    // A file that is gone in the middle of its use is not a store that was never there.
    case SQLITE_IOERR: self.init(systemError: systemError == ENOENT ? EIO : systemError)
    case SQLITE_ERROR, SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_RANGE, SQLITE_MISUSE:
      self.init(
        .statementFailed, "A statement of the application's own tables failed.",
        "Nothing of its transaction was stored. The detail names the table and the rule.")
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
      // That there is no store is said only after looking for it; this file should be there.
      self.init(
        .inputOutput, "A file or directory of the store is gone.",
        "Open the store again. The latest values may be in what was there before.")
    case EMFILE, ENFILE:
      self.init(
        .inputOutput, "The process has too many files open.",
        "Close some, or raise its limit (ulimit -n). Nothing was written by this call.")
    case ENOTDIR, ELOOP, ENAMETOOLONG:
      self.init(.inputOutput, "The path of the store leads nowhere.", "Check the path. Nothing was changed.")
    default:
      self.init(
        .inputOutput, "The store's file could not be read or written.",
        "Nothing was written by this call. Check the device and the file system.")
    }
  }
}
