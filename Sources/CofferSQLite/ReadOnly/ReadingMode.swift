import CofferCSQLite
import CofferCore
import Foundation

/// How a database is read when it is open for reading only.
///
/// SQLite reads a database with a write-ahead log only if it can map the log's index (`-shm`). Otherwise no locks are
/// taken, and the files are compared before and after each read; see ``ReadOnlyView``.
enum ReadingMode: Hashable {
  /// With SQLite's locks: the log and its index exist.
  case locked
  /// Without locks: there is no log.
  case withoutLog
  /// Without locks: the index of the log is built in memory.
  case withLog

  var takesLocks: Bool { self == .locked }

  /// The name of the VFS to open the database with; `nil` for the default one.
  var fileSystem: String? { self == .withLog ? UnlockedVFS.name : nil }

  /// Returns the URI to open the database with.
  func name(of file: StoreFile) -> String {
    var name = "file:"
    for byte in file.path.utf8 {
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        name.append(Character(Unicode.Scalar(byte)))
      default: name += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
      }
    }
    return name + (self == .withoutLog ? "?mode=ro&immutable=1" : "?mode=ro")
  }

  /// Configures a connection before its first read.
  func prepare(_ connection: Connection) throws {
    guard self == .withLog else { return }
    // A connection without locks cannot detect whether it is the last one.
    _ = coffer_sqlite_leave_log(connection.handle, 1)
    // Only an exclusive connection keeps the index in memory.
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
  }
}

/// A VFS without locks that applies the page checks of ``PageVFS``.
enum UnlockedVFS {
  static let name = "coffer-unlocked"

  /// SQLite's result code of registering the VFS, which happens once per process.
  static let registration: Int32 = {
    guard PageVFS.registration == SQLITE_OK, let checked = sqlite3_vfs_find(PageVFS.name),
      sqlite3_vfs_find(system) != nil, let label = strdup(name)
    else { return SQLITE_ERROR }
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: checked.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.zName = UnsafePointer(label)
    vfs.pointee.xOpen = { openPageFile(sqlite3_vfs_find(UnlockedVFS.system), $1, $2, $3, $4) { readingFlags($0) } }
    return sqlite3_vfs_register(vfs, 0)
  }()

  /// Returns the flags with which a log is opened. SQLite would open it for writing, and for root set its owner, which
  /// changes its date, unless it takes the file for one of another kind.
  private static func readingFlags(_ flags: Int32) -> Int32 {
    guard flags & SQLITE_OPEN_WAL != 0 else { return flags }
    let writing = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL
    return flags & ~writing | SQLITE_OPEN_READONLY | SQLITE_OPEN_SUBJOURNAL
  }

  /// The VFS of SQLite whose locks have no effect.
  fileprivate static let system = "unix-none"
}
