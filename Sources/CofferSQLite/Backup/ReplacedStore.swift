import CofferCSQLite
import CofferCore
import Foundation

/// A store that is about to be replaced, locked against everybody else as long as this lives.
final class ReplacedStore {
  /// Holds SQLite's lock; `nil` for a file that SQLite cannot make sense of.
  private let connection: Connection?

  /// Takes the locks, and makes one file of it that needs no log.
  /// - Returns: `nil` when somebody has it open.
  /// - Throws: `notAStore` for the database of another application.
  init?(_ place: StorePlace) throws {
    let present: Connection?
    do {
      present = try Connection(place)
      present?.waitsForLock = false
      try present?.requireStore()
    } catch let error as StorageError where error.code == .busy {
      return nil
    } catch let error as StorageError where error.underlying != nil && Self.isToMend(error) {
      connection = nil
      if place.isOpenSomewhere { return nil }
      return
    }
    do {
      // The switch succeeds for the only one who has the file open, after it has copied the log into the database.
      guard try present?.journalMode(" = DELETE") == "delete" else { return nil }
      try present?.execute("BEGIN EXCLUSIVE")
      // Somebody may have come in between, and switched it back.
      guard try present?.journalMode("") == "delete" else { return nil }
      connection = present
    } catch let error as StorageError where error.code == .busy {
      return nil
    } catch let error as StorageError where Self.isToMend(error) {
      connection = nil
      if place.isOpenSomewhere { return nil }
    }
  }

  /// Whether an error is one that a backup is to mend.
  private static func isToMend(_ error: StorageError) -> Bool {
    [.damaged, .notAStore, .inputOutput].contains(error.code)
  }
}

extension Connection {
  /// Throws for a database of another application.
  fileprivate func requireStore() throws {
    guard try number("SELECT count(*) FROM sqlite_schema") ?? 0 > 0 else { return }
    let isStore = try number("SELECT 1 FROM sqlite_schema WHERE name = 'coffer_meta'") != nil
    let isJournal = try isStore && isJournalOnly()
    guard isStore, !isJournal else {
      throw StorageError(
        .notAStore,
        isJournal
          ? "The file is the journal of a store whose values are elsewhere, in files for example."
          : "The file is an SQLite database of another application.",
        advice: "Give the path of the store that the backup is of. Nothing was changed.", backend: place.description)
    }
  }

  fileprivate func journalMode(_ mode: String) throws -> String? {
    let statement = try prepare("PRAGMA journal_mode\(mode)")
    defer { statement.reset() }
    return try statement.step() ? statement.text(0) : nil
  }
}

extension StorePlace {
  /// Whether this process has the store open, or another holds one of SQLite's locks on the file.
  fileprivate var isOpenSomewhere: Bool {
    guard let identity = FileIdentity(path) else { return false }
    // Before the file is opened here: closing it would take away the locks of this process.
    if StoreRegistry.shared.hasOpen(identity) { return true }
    let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // SQLite's lock bytes: pending, reserved and 510 for those who share.
    var lock = flock()
    lock.l_type = Int16(F_WRLCK)
    lock.l_whence = Int16(SEEK_SET)
    lock.l_start = 0x4000_0000
    lock.l_len = 512
    return fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
  }

  /// Takes a log away that could not be copied into the database: beside another database it would destroy that.
  /// - Parameter kept: the name under which the database is kept, whose log it stays; `nil` to delete it.
  func setLogAside(as kept: String?) throws {
    for suffix in ["-wal", "-journal"] where access(path + suffix, F_OK) == 0 {
      let isDone = kept.map { rename(path + suffix, $0 + suffix) == 0 } ?? (unlink(path + suffix) == 0)
      guard isDone else {
        throw StorageError.system("rename", path: path + suffix, errno: errno, backend: description)
      }
    }
    unlink(path + "-shm")
  }
}
