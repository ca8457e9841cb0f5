import CofferCSQLite
import Foundation

/// An open database file or write-ahead log whose pages are verified as SQLite reads them.
///
/// SQLite allocates it (`szOsFile` bytes), directly followed by the file of the system's VFS, and uses it from one
/// thread at a time, like the connection that it belongs to.
struct PageFile {
  /// SQLite's view of the file. It must be the first field.
  var base = sqlite3_file()
  var isLog = false
  /// The page size of the database in bytes; 0 while it is unknown.
  var pageSize: Int32 = 0
  /// Whether each page of the database ends with its checksum.
  var isSealed = false
  /// Whether a page without a checksum is accepted: another program may have copied the log into the database.
  var allowsUnsealed = false
  /// Whether an all-zero page is accepted: it may have been freed before it was ever written.
  var allowsHoles = false
  /// Whether every page is accepted. Only the checksums of rows then prove what is read, and absence is not proven.
  var ignoresFaults = false
  /// Whether the log's checksums use big-endian words.
  var isSwapped = false
  /// The offset of the first frame that the current transaction has overwritten; from there on, the log's checksums are
  /// invalid until SQLite rewrites them.
  var overwrittenFrom = Int64.max
  var lastHeader: Int64 = -1
  /// The number of the first page found damaged since the last error was reported; 0 if there is none.
  var faultyPage: Int64 = 0

  /// The number of bytes reserved for the checksum at the end of each page.
  static let reserve: Int32 = 8
  static let frameHeader: Int64 = 24
  static let logHeader: Int64 = 32
  static let offsetOfReal = (MemoryLayout<PageFile>.size + 15) & ~15
}

typealias FilePointer = UnsafeMutablePointer<sqlite3_file>

extension FilePointer {
  var page: UnsafeMutablePointer<PageFile> { UnsafeMutableRawPointer(self).assumingMemoryBound(to: PageFile.self) }

  /// The file of the system's VFS.
  var real: FilePointer {
    (UnsafeMutableRawPointer(self) + PageFile.offsetOfReal).assumingMemoryBound(to: sqlite3_file.self)
  }

  var realMethods: sqlite3_io_methods { real.pointee.pMethods.pointee }

  /// Reads bytes without verifying them.
  /// - Returns: Whether all bytes could be read.
  func readRaw(_ buffer: UnsafeMutableRawPointer, _ count: Int32, _ offset: Int64) -> Bool {
    realMethods.xRead(real, buffer, count, offset) == SQLITE_OK
  }
}

extension FilePointer {
  /// Returns the header of the database file, or `nil` if it cannot be read or is not a database header.
  func readHeader() -> DatabaseHeader? {
    withUnsafeTemporaryAllocation(byteCount: 104, alignment: 8) { bytes in
      guard let start = bytes.baseAddress, readRaw(start, 100, 0) else { return nil }
      return DatabaseHeader(start)
    }
  }
}

/// Returns the checksum of a page's content in the format of SQLite's checksum VFS. A stored zero means no checksum.
func pageChecksum(_ page: UnsafeRawPointer, _ size: Int32) -> UInt64 {
  var (first, second) = (UInt32(0), UInt32(0))
  coffer_sqlite_checksum(page, size - PageFile.reserve, 0, &first, &second)
  return UInt64(first.littleEndian) | UInt64(second.littleEndian) << 32
}

/// The description of the pages in the first 100 bytes of a database file.
struct DatabaseHeader {
  let pageSize: Int32
  let reserve: UInt8
  /// Whether the database has a write-ahead log.
  let hasLog: Bool

  /// Parses a header; `nil` if the bytes are not an SQLite header.
  init?(_ bytes: UnsafeRawPointer) {
    guard memcmp(bytes, "SQLite format 3", 16) == 0 else { return nil }
    let size =
      Int32(bytes.load(fromByteOffset: 16, as: UInt8.self)) << 8
      | Int32(bytes.load(fromByteOffset: 17, as: UInt8.self))
    pageSize = size == 1 ? 65_536 : size
    guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return nil }
    reserve = bytes.load(fromByteOffset: 20, as: UInt8.self)
    hasLog = bytes.load(fromByteOffset: 18, as: UInt16.self) == 0x0202
  }
}

// MARK: Callbacks of SQLite

nonisolated func pageFileClose(_ file: FilePointer?) -> Int32 {
  guard let file else { return SQLITE_OK }
  return file.real.pointee.pMethods == nil ? SQLITE_OK : file.realMethods.xClose(file.real)
}

nonisolated func pageFileRead(
  _ file: FilePointer?, _ buffer: UnsafeMutableRawPointer?, _ count: Int32, _ offset: sqlite3_int64
) -> Int32 {
  guard let file, let buffer else { return SQLITE_MISUSE }
  let code = file.realMethods.xRead(file.real, buffer, count, offset)
  if code == SQLITE_OK {
    return file.page.pointee.isLog
      ? checkFrame(file, buffer, count, offset) : checkPage(file, buffer, count, offset)
  }
  // SQLite reads zeros beyond the end of a file, so the missing pages of a truncated file would look empty.
  let page = file.page
  if code == coffer_sqlite_short_read, page.pointee.isSealed, count == page.pointee.pageSize, offset > 0,
    !page.pointee.isLog, !page.pointee.allowsHoles, !page.pointee.ignoresFaults
  {
    return fault(page, offset / Int64(count) + 1)
  }
  return code
}

/// Verifies a page of the database by its checksum, and zeroes the checksum in `buffer`.
///
/// Pages in the log thus have a checksum of zero, so a page that another program copies from there is distinguishable
/// from a damaged one.
private func checkPage(
  _ file: FilePointer, _ buffer: UnsafeMutableRawPointer, _ count: Int32, _ offset: Int64
) -> Int32 {
  let page = file.page
  if offset == 0 {
    guard count >= 512 else { return SQLITE_OK }
    let header = DatabaseHeader(buffer)
    if let header, header.reserve != UInt8(PageFile.reserve), hasLostItsMark(buffer, count) { return fault(page, 1) }
    learn(header, page)
  }
  guard isSealed(file), count == page.pointee.pageSize, offset % Int64(count) == 0 else { return SQLITE_OK }
  let end = buffer + Int(count - PageFile.reserve)
  let found = end.loadUnaligned(as: UInt64.self).littleEndian
  end.storeBytes(of: 0, as: UInt64.self)
  if found == pageChecksum(buffer, count) { return SQLITE_OK }
  if found == 0, page.pointee.allowsUnsealed { return SQLITE_OK }
  if found == 0, page.pointee.allowsHoles, isZero(buffer, count) { return SQLITE_OK }
  return fault(page, offset / Int64(count) + 1)
}

/// Whether the first page matches its checksum once its header is set to declare checksums. If so, the damage is in the
/// header's declaration.
private func hasLostItsMark(_ buffer: UnsafeMutableRawPointer, _ count: Int32) -> Bool {
  let reserve = buffer.load(fromByteOffset: 20, as: UInt8.self)
  buffer.storeBytes(of: UInt8(PageFile.reserve), toByteOffset: 20, as: UInt8.self)
  defer { buffer.storeBytes(of: reserve, toByteOffset: 20, as: UInt8.self) }
  let found = buffer.loadUnaligned(fromByteOffset: Int(count - PageFile.reserve), as: UInt64.self).littleEndian
  return found == pageChecksum(buffer, count)
}

func isZero(_ buffer: UnsafeRawPointer, _ count: Int32) -> Bool {
  buffer.load(as: UInt8.self) == 0 && memcmp(buffer, buffer + 1, Int(count) - 1) == 0
}

/// Whether the pages of the database have checksums.
///
/// A database that had none when it was opened is checked again, since another process may have created it meanwhile.
func isSealed(_ file: FilePointer) -> Bool {
  if !file.page.pointee.isSealed { learn(file.readHeader(), file.page) }
  return file.page.pointee.isSealed
}

private func learn(_ header: DatabaseHeader?, _ page: UnsafeMutablePointer<PageFile>) {
  guard let header else { return }
  page.pointee.pageSize = header.pageSize
  page.pointee.isSealed = header.reserve == UInt8(PageFile.reserve)
}

private func fault(_ page: UnsafeMutablePointer<PageFile>, _ number: Int64) -> Int32 {
  if page.pointee.ignoresFaults { return SQLITE_OK }
  if page.pointee.faultyPage == 0 { page.pointee.faultyPage = number }
  return coffer_sqlite_damaged_page
}

/// Verifies a page of the log by the checksum of its frame, which continues that of the preceding frame.
private func checkFrame(
  _ file: FilePointer, _ buffer: UnsafeMutableRawPointer, _ count: Int32, _ offset: Int64
) -> Int32 {
  let page = file.page
  let start = offset - PageFile.frameHeader
  if page.pointee.pageSize == 0 { learnLog(file) }
  guard count == page.pointee.pageSize, start >= PageFile.logHeader, start < page.pointee.overwrittenFrom,
    (start - PageFile.logHeader) % (Int64(count) + PageFile.frameHeader) == 0
  else { return SQLITE_OK }
  // The 8 bytes of the frame before (or of the log's header), then this frame's header.
  let isFirst = start == PageFile.logHeader
  let before = isFirst ? start - 8 : start - Int64(count) - 8
  return withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { bytes in
    guard let seed = bytes.baseAddress else { return SQLITE_NOMEM }
    guard file.readRaw(seed, 8, before), file.readRaw(seed + 8, Int32(PageFile.frameHeader), start) else {
      return fault(page, 0)
    }
    let header = seed + 8
    let swapped: Int32 = page.pointee.isSwapped ? 1 : 0
    var first = UInt32(bigEndian: seed.load(as: UInt32.self))
    var second = UInt32(bigEndian: seed.load(fromByteOffset: 4, as: UInt32.self))
    coffer_sqlite_checksum(header, 8, swapped, &first, &second)
    coffer_sqlite_checksum(buffer, count, swapped, &first, &second)
    if first == UInt32(bigEndian: header.load(fromByteOffset: 16, as: UInt32.self)),
      second == UInt32(bigEndian: header.load(fromByteOffset: 20, as: UInt32.self))
    {
      return SQLITE_OK
    }
    return fault(page, Int64(UInt32(bigEndian: header.load(as: UInt32.self))))
  }
}

private func learnLog(_ file: FilePointer) {
  withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { bytes in
    guard let start = bytes.baseAddress, file.readRaw(start, 12, 0) else { return }
    let magic = UInt32(bigEndian: start.load(as: UInt32.self))
    let size = UInt32(bigEndian: start.load(fromByteOffset: 8, as: UInt32.self))
    guard magic & ~1 == 0x377F_0682, size >= 512, size <= 65_536 else { return }
    file.page.pointee.isSwapped = magic & 1 != 0
    file.page.pointee.pageSize = Int32(size)
  }
}

nonisolated func pageFileWrite(
  _ file: FilePointer?, _ buffer: UnsafeRawPointer?, _ count: Int32, _ offset: sqlite3_int64
) -> Int32 {
  guard let file, let buffer else { return SQLITE_MISUSE }
  let page = file.page
  if page.pointee.isLog {
    noteFrame(page, count, offset)
    return file.realMethods.xWrite(file.real, buffer, count, offset)
  }
  if offset == 0, count >= 512 { learn(DatabaseHeader(buffer), page) }
  guard isSealed(file), count == page.pointee.pageSize, offset % Int64(count) == 0 else {
    return file.realMethods.xWrite(file.real, buffer, count, offset)
  }
  // The buffer is SQLite's page, which is used exclusively while it is written; its end is restored afterwards.
  let end = UnsafeMutableRawPointer(mutating: buffer) + Int(count - PageFile.reserve)
  let before = end.loadUnaligned(as: UInt64.self)
  end.storeBytes(of: pageChecksum(buffer, count).littleEndian, as: UInt64.self)
  defer { end.storeBytes(of: before, as: UInt64.self) }
  return file.realMethods.xWrite(file.real, buffer, count, offset)
}

/// Tracks SQLite's writes to the log. A page that is written without its frame header overwrites a frame of the same
/// transaction; the checksums from there on are invalid until the headers are rewritten, beginning with that frame's.
private func noteFrame(_ page: UnsafeMutablePointer<PageFile>, _ count: Int32, _ offset: Int64) {
  if Int64(count) == PageFile.frameHeader {
    page.pointee.lastHeader = offset
    if offset <= page.pointee.overwrittenFrom { page.pointee.overwrittenFrom = .max }
  } else if count == page.pointee.pageSize, offset != page.pointee.lastHeader + PageFile.frameHeader {
    page.pointee.overwrittenFrom = min(page.pointee.overwrittenFrom, offset - PageFile.frameHeader)
  } else if offset == 0 {
    page.pointee.pageSize = 0  // A new log; its header is read when a page is.
  }
}
