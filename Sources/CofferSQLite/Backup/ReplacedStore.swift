import CofferCSQLite
import CofferCore
import CofferFileSystem
import Foundation

/// A store that is about to be replaced, locked against all other connections for the lifetime of this object.
final class ReplacedStore {
  /// The connection that holds SQLite's lock; `nil` for a file that SQLite cannot read.
  private let connection: Connection?

  /// Locks the store and merges its write-ahead log into the database file.
  /// - Returns: `nil` if the store is open elsewhere.
  /// - Throws: `notAStore` for the database of another application.
  init?(_ file: StoreFile) throws {
    let present: Connection?
    do {
      present = try Connection(file)
      present?.waitsForLock = false
      try present?.requireStore()
    } catch let error as StorageError where error.code == .busy {
      return nil
    } catch let error as StorageError where error.underlying != nil && Self.isToMend(error) {
      connection = nil
      if file.isOpenSomewhere { return nil }
      return
    }
    do {
      // The switch succeeds only if no other connection has the file open; it copies the log into the database first.
      guard try present?.journalMode(" = DELETE") == "delete" else { return nil }
      try present?.execute("BEGIN EXCLUSIVE")
      // Another process may have opened the file in between, and switched the mode back.
      guard try present?.journalMode("") == "delete" else { return nil }
      connection = present
    } catch let error as StorageError where error.code == .busy {
      return nil
    } catch let error as StorageError where Self.isToMend(error) {
      connection = nil
      if file.isOpenSomewhere { return nil }
    }
  }

  /// Whether an error is one that restoring a backup repairs.
  private static func isToMend(_ error: StorageError) -> Bool {
    [.damaged, .notAStore, .inputOutput].contains(error.code)
  }
}

extension Connection {
  /// Checks that the database is empty or a store.
  /// - Throws: `notAStore` for the database of another application, or for the journal of another engine's store.
  fileprivate func requireStore() throws {
    guard try number("SELECT count(*) FROM sqlite_schema") ?? 0 > 0 else { return }
    let isStore = try number("SELECT 1 FROM sqlite_schema WHERE name = 'coffer_meta'") != nil
    let isJournal = try isStore && StoreMeta(self).isJournalOnly
    guard isStore, !isJournal else {
      throw StorageError(
        .notAStore,
        isJournal
          ? "The file is the journal of a store whose values are kept elsewhere, for example in files."
          : "The file is an SQLite database of another application.",
        advice: "Give the path of the store that was backed up. Nothing was changed.", location: file.description)
    }
  }

  fileprivate func journalMode(_ mode: String) throws -> String? {
    let statement = try prepare("PRAGMA journal_mode\(mode)")
    defer { statement.reset() }
    return try statement.step() ? statement.text(0) : nil
  }
}

extension StoreFile {
  /// Whether this process has the store open, or another holds one of SQLite's locks on the file.
  fileprivate var isOpenSomewhere: Bool {
    guard let identity = FileIdentity(path) else { return false }
    // Checked before the file is opened here: closing it would release the locks of this process (POSIX locks).
    if StoreRegistry.shared.hasOpen(identity) { return true }
    let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // SQLite's lock bytes: pending, reserved and 510 shared ones.
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = 0x4000_0000
    lock.l_len = 512
    return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
  }

  /// Moves or deletes a log that could not be copied into the database: it would corrupt the database that replaces it.
  /// So would a rollback journal whose removal by SQLite is not synced yet; after this call it survives power loss.
  /// - Parameter kept: the path at which the replaced database is kept, and its log with it; `nil` to delete the log.
  func setLogAside(as kept: String?) throws {
    for suffix in ["-wal", "-journal"] where access(path + suffix, F_OK) == 0 {
      let isDone = kept.map { rename(path + suffix, $0 + suffix) == 0 } ?? (unlink(path + suffix) == 0)
      guard isDone else {
        throw StorageError.system("rename", path: path + suffix, errno: errno, location: description)
      }
    }
    unlink(path + "-shm")
    let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
    do { try OpenDirectory.sync(directory) } catch { throw error.locating(at: description) }
  }
}
