import CofferCSQLite
import CofferCore
import Foundation

/// How a database is read that cannot be written.
///
/// SQLite reads a database with a write-ahead log only where it can map the log's index beside it. Where it cannot, it
/// takes no locks, and whoever reads compares the files before and after: ``ReadOnlyView``.
enum ReadingMode: Hashable {
  /// With SQLite's locks: the log and its index are there.
  case locked
  /// Without locks and without a log: there is none.
  case withoutLog
  /// Without locks; the index of the log is made in memory.
  case withLog

  var takesLocks: Bool { self == .locked }

  /// The VFS to open the database with, where it is not the usual one.
  var fileSystem: String? { self == .withLog ? UnlockedVFS.name : nil }

  /// The name to open the database by, as a URI.
  func name(of place: StorePlace) -> String {
    var name = "file:"
    for byte in place.path.utf8 {
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"):
        name.append(Character(Unicode.Scalar(byte)))
      default: name += (byte < 16 ? "%0" : "%") + String(byte, radix: 16)
      }
    }
    return name + (self == .withoutLog ? "?mode=ro&immutable=1" : "?mode=ro")
  }

  /// Sets a connection up before it reads anything.
  func prepare(_ connection: Connection) throws {
    guard self == .withLog else { return }
    _ = coffer_sqlite_leave_log(connection.handle)
    // Its index in memory is what an exclusive connection has.
    try connection.execute("PRAGMA locking_mode = EXCLUSIVE")
  }
}

/// SQLite's file system without locks, under the checks of ``PageVFS``.
enum UnlockedVFS {
  static let name = "coffer-unlocked"

  /// Makes it known to SQLite, once per process; SQLite's result code.
  static let registration: Int32 = {
    guard PageVFS.registration == SQLITE_OK, let checked = sqlite3_vfs_find(PageVFS.name),
      sqlite3_vfs_find(system) != nil, let label = strdup(name)
    else { return SQLITE_ERROR }
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    vfs.initialize(to: checked.pointee)
    vfs.pointee.pNext = nil
    vfs.pointee.zName = UnsafePointer(label)
    vfs.pointee.xOpen = { openPageFile(sqlite3_vfs_find(UnlockedVFS.system), $1, $2, $3, $4) }
    return sqlite3_vfs_register(vfs, 0)
  }()

  /// SQLite's own VFS whose locks do nothing.
  fileprivate static let system = "unix-none"
}
