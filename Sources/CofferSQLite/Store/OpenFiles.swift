import CofferCSQLite
import CofferCore
import CofferFileSystem
import Foundation

/// The files of an open store. SQLite finds the log by its path: a connection to another database would take the log of
/// this one for its own, and one with another log would overwrite pages that the first log has.
struct OpenFiles: Sendable {
  fileprivate let database: FileIdentity
  /// The write-ahead log, which stays as long as a connection is open; `nil` if it could not be looked up.
  fileprivate let log: FileIdentity?

  /// - Parameter file: the file, of which a connection has read.
  init(_ database: FileIdentity, _ file: StoreFile) {
    self.database = database
    log = FileIdentity(file.logPath)
  }
}

extension StoreFile {
  /// Opens another connection to an open store, and sets it up with `body`, which reads from it.
  /// - Throws: `closed` if another database is at the path now, or none; `unavailable` if the log is another one.
  func connect<R>(_ opened: OpenFiles, _ body: (Connection) throws -> R) throws -> R {
    try requireFiles(opened)
    let connection = try Connection(self)
    // In a database that was moved here just now, closing must not copy the log.
    _ = coffer_sqlite_leave_log(connection.handle, 1)
    let result = Result { try body(connection) }
    // Looked at last as well: the database and its log are opened one after the other.
    try requireFiles(opened)
    guard coffer_sqlite_has_moved(connection.handle) == 0 else {
      // SQLite answers so, too, if it may not look the path up.
      if access(path, F_OK) != 0, errno != ENOENT {
        throw StorageError.system("access", path: path, errno: errno, location: description)
      }
      throw StorageError.replaced(self)
    }
    _ = coffer_sqlite_leave_log(connection.handle, 0)
    return try result.get()
  }

  /// Whether the path leads to another database or to none.
  func isReplaced(_ opened: OpenFiles) -> Bool { isOther(path, than: opened.database) }

  /// Whether a path leads to another file or to none. If it cannot be looked up, for example because a permission was
  /// revoked, the result is `false`: the open file still works.
  private func isOther(_ path: String, than opened: FileIdentity) -> Bool {
    if let present = FileIdentity(path) { return present != opened }
    return access(path, F_OK) != 0 && errno == ENOENT  // read directly after the call that sets it
  }

  private func requireFiles(_ opened: OpenFiles) throws {
    if isReplaced(opened) { throw StorageError.replaced(self) }
    if let log = opened.log, isOther(logPath, than: log) {
      throw StorageError(
        .unavailable, "The write-ahead log of the store was moved, deleted or replaced while the store was open.",
        advice: "Put it back. Without it, values that were saved last may be lost when the store is opened again.",
        location: description)
    }
  }
}

extension StorageError {
  /// Returns the error of an open store whose database file is no longer at its path.
  static func replaced(_ file: StoreFile) -> StorageError {
    StorageError(
      .closed, "The database file was moved, deleted or replaced while the store was open.",
      advice: "Open the store again. The latest values may be in the file that was there before.",
      location: file.description)
  }
}
