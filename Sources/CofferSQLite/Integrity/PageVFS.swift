import CofferCSQLite
import Foundation

/// An SQLite VFS that wraps the system's. Each page of a database has a checksum, which is verified when the page is
/// read, and each page of the log is verified by the checksum of its frame.
///
/// `docs/formats/sqlite.md`, "Pages". The page format is that of SQLite's own checksum VFS.
package enum PageVFS {
  static let name = "coffer"
  /// The name of the VFS that reads damaged pages without an error.
  static let salvagingName = "coffer-salvage"

  /// The result code of registering both with SQLite, which happens once per process.
  static let registration: Int32 = {
    let code = register(name, pageFileOpen)
    return code == SQLITE_OK ? register(salvagingName, pageFileOpenForSalvage) : code
  }()

  /// The name of the VFS for `sqlite3_open_v2`, for tools that write to a store's database directly; `nil` if it could
  /// not be registered.
  package static var registeredName: String? { registration == SQLITE_OK ? name : nil }

  private typealias Open =
    @convention(c) (
      UnsafeMutablePointer<sqlite3_vfs>?, UnsafePointer<CChar>?, FilePointer?, Int32, UnsafeMutablePointer<Int32>?
    ) -> Int32

  private static func register(_ name: String, _ open: @escaping Open) -> Int32 {
    guard let system = sqlite3_vfs_find(nil), let label = strdup(name) else { return SQLITE_ERROR }
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    // All functions but `xOpen` are the system's, and find their data in the copied structure.
    vfs.initialize(to: system.pointee)
    vfs.pointee.iVersion = min(system.pointee.iVersion, 3)
    vfs.pointee.szOsFile = Int32(PageFile.offsetOfReal) + system.pointee.szOsFile
    vfs.pointee.pNext = nil
    vfs.pointee.zName = UnsafePointer(label)
    vfs.pointee.xOpen = open
    return sqlite3_vfs_register(vfs, 0)
  }

  /// The I/O methods of wrapped files. `xFetch` is missing, since memory-mapped pages would bypass verification.
  fileprivate nonisolated(unsafe) static let methods: UnsafePointer<sqlite3_io_methods> = {
    // Never written after this initialization, so any number of threads may read it.
    let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
    methods.initialize(to: sqlite3_io_methods())
    methods.pointee.iVersion = 2
    methods.pointee.xClose = pageFileClose
    methods.pointee.xRead = pageFileRead
    methods.pointee.xWrite = pageFileWrite
    methods.pointee.xTruncate = { file, size in file.map { $0.realMethods.xTruncate($0.real, size) } ?? SQLITE_MISUSE }
    methods.pointee.xSync = { file, flags in file.map { $0.realMethods.xSync($0.real, flags) } ?? SQLITE_MISUSE }
    methods.pointee.xFileSize = { file, size in file.map { $0.realMethods.xFileSize($0.real, size) } ?? SQLITE_MISUSE }
    methods.pointee.xLock = { file, lock in file.map { $0.realMethods.xLock($0.real, lock) } ?? SQLITE_MISUSE }
    methods.pointee.xUnlock = { file, lock in file.map { $0.realMethods.xUnlock($0.real, lock) } ?? SQLITE_MISUSE }
    methods.pointee.xCheckReservedLock = { file, result in
      file.map { $0.realMethods.xCheckReservedLock($0.real, result) } ?? SQLITE_MISUSE
    }
    methods.pointee.xFileControl = { file, operation, argument in
      file.map { $0.realMethods.xFileControl($0.real, operation, argument) } ?? SQLITE_MISUSE
    }
    methods.pointee.xSectorSize = { file in file.map { $0.realMethods.xSectorSize($0.real) } ?? 0 }
    methods.pointee.xDeviceCharacteristics = { file in
      file.map { $0.realMethods.xDeviceCharacteristics($0.real) } ?? 0
    }
    methods.pointee.xShmMap = { file, region, size, extend, memory in
      file.map { $0.realMethods.xShmMap($0.real, region, size, extend, memory) } ?? SQLITE_MISUSE
    }
    methods.pointee.xShmLock = { file, offset, count, flags in
      file.map { $0.realMethods.xShmLock($0.real, offset, count, flags) } ?? SQLITE_MISUSE
    }
    methods.pointee.xShmBarrier = { file in
      if let file { file.realMethods.xShmBarrier(file.real) }
    }
    methods.pointee.xShmUnmap = { file, delete in
      file.map { $0.realMethods.xShmUnmap($0.real, delete) } ?? SQLITE_MISUSE
    }
    return UnsafePointer(methods)
  }()
}

private nonisolated func pageFileOpenForSalvage(
  _ vfs: UnsafeMutablePointer<sqlite3_vfs>?, _ path: UnsafePointer<CChar>?, _ file: FilePointer?, _ flags: Int32,
  _ flagsOut: UnsafeMutablePointer<Int32>?
) -> Int32 {
  let code = pageFileOpen(vfs, path, file, flags, flagsOut)
  if let file, flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL) != 0 { file.page.pointee.ignoresFaults = true }
  return code
}

/// Opens a file with the system's VFS, wrapping only databases and logs.
private nonisolated func pageFileOpen(
  _: UnsafeMutablePointer<sqlite3_vfs>?, _ path: UnsafePointer<CChar>?, _ file: FilePointer?, _ flags: Int32,
  _ flagsOut: UnsafeMutablePointer<Int32>?
) -> Int32 {
  openPageFile(sqlite3_vfs_find(nil), path, file, flags, flagsOut)
}

/// Opens a file with the given VFS of SQLite, wrapping only databases and logs.
/// - Parameter adapt: returns the flags to pass to that VFS.
nonisolated func openPageFile(
  _ system: UnsafeMutablePointer<sqlite3_vfs>?, _ path: UnsafePointer<CChar>?, _ file: FilePointer?, _ flags: Int32,
  _ flagsOut: UnsafeMutablePointer<Int32>?, adapt: (Int32) -> Int32 = { $0 }
) -> Int32 {
  guard let file, let system, let open = system.pointee.xOpen else { return SQLITE_ERROR }
  guard flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL) != 0 else { return open(system, path, file, flags, flagsOut) }
  file.page.initialize(to: PageFile())
  file.page.pointee.isLog = flags & SQLITE_OPEN_WAL != 0
  file.real.initialize(to: sqlite3_file())
  let code = open(system, path, file.real, adapt(flags), flagsOut)
  // SQLite closes a file that has methods even after an error, which the system's file may require.
  if file.real.pointee.pMethods != nil { file.pointee.pMethods = PageVFS.methods }
  guard code == SQLITE_OK, !file.page.pointee.isLog else { return code }
  if let header = file.readHeader() {
    file.page.pointee.pageSize = header.pageSize
    file.page.pointee.isSealed = header.reserve == UInt8(PageFile.reserve)
  }
  return SQLITE_OK
}
