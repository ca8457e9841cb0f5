import CofferCSQLite
import Foundation

/// An open database file or write-ahead log whose pages are checked as SQLite reads them.
///
/// SQLite allocates it (`szOsFile` bytes) with the file of the system's VFS right behind it, and uses it from one
/// thread at a time, as the connection that it belongs to.
struct PageFile {
  /// What SQLite sees; has to be the first field.
  var base = sqlite3_file()
  var isLog = false
  /// Of the database; 0 while it is not known.
  var pageSize: Int32 = 0
  /// Whether each page of the database ends with its checksum.
  var isSealed = false
  /// Whether a page without a checksum is taken as it is: another program may have copied the log into the database.
  var allowsUnsealed = false
  /// Whether a page of nothing but zeros is taken as it is: one that was freed before it was ever written.
  var allowsHoles = false
  /// Whether every page is taken as it is: what is read is proven by the checksums of rows, and nothing is absent.
  var ignoresFaults = false
  /// Whether the log's checksums are those of a big-endian machine.
  var isSwapped = false
  /// Where a frame of the present transaction was overwritten in place; from there on the log's checksums are wrong
  /// until SQLite has written them anew.
  var overwrittenFrom = Int64.max
  var lastHeader: Int64 = -1
  /// The first page found damaged since ``Connection`` asked; 0 when there is none.
  var faultyPage: Int64 = 0

  /// The bytes at the end of each page that hold its checksum.
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

  /// Reads past the checks; whether all bytes were there.
  func readRaw(_ buffer: UnsafeMutableRawPointer, _ count: Int32, _ offset: Int64) -> Bool {
    realMethods.xRead(real, buffer, count, offset) == SQLITE_OK
  }
}

extension FilePointer {
  /// What the file says of its pages; `nil` while it is empty.
  func readHeader() -> DatabaseHeader? {
    withUnsafeTemporaryAllocation(byteCount: 104, alignment: 8) { bytes in
      guard let start = bytes.baseAddress, readRaw(start, 100, 0) else { return nil }
      return DatabaseHeader(start)
    }
  }
}

/// The checksum of a page's content, as SQLite's checksum VFS has it: never zero, which means that there is none.
func pageChecksum(_ page: UnsafeRawPointer, _ size: Int32) -> UInt64 {
  var (first, second) = (UInt32(0), UInt32(0))
  coffer_sqlite_checksum(page, size - PageFile.reserve, 0, &first, &second)
  return UInt64(first.littleEndian) | UInt64(second.littleEndian) << 32
}

/// What a database file's first 100 bytes say of its pages.
struct DatabaseHeader {
  let pageSize: Int32
  let reserve: UInt8

  /// `nil` when they are no header of SQLite's.
  init?(_ bytes: UnsafeRawPointer) {
    guard memcmp(bytes, "SQLite format 3", 16) == 0 else { return nil }
    let size =
      Int32(bytes.load(fromByteOffset: 16, as: UInt8.self)) << 8
      | Int32(bytes.load(fromByteOffset: 17, as: UInt8.self))
    pageSize = size == 1 ? 65_536 : size
    guard pageSize >= 512, pageSize & (pageSize - 1) == 0 else { return nil }
    reserve = bytes.load(fromByteOffset: 20, as: UInt8.self)
  }
}

// MARK: What SQLite calls

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
  // SQLite takes what lies beyond the end for zeros: a file that was cut would have empty pages.
  let page = file.page
  if code == coffer_sqlite_short_read, page.pointee.isSealed, count == page.pointee.pageSize, offset > 0,
    !page.pointee.isLog, !page.pointee.allowsHoles, !page.pointee.ignoresFaults
  {
    return fault(page, offset / Int64(count) + 1)
  }
  return code
}

/// Compares a page of the database with its checksum. SQLite sees zeros where the checksum is, so that a page in the
/// log has none and one that another program copies from there is told from a damaged one.
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

/// Whether the first page would be whole if its header said that it has a checksum: then that bit is what is damaged.
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

/// Whether the pages of the database carry checksums. One that was empty when it was opened, or had none, is looked at
/// again: another process may have made it meanwhile.
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

/// Compares a page of the log with the checksum of its frame, which goes on from that of the frame before.
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
  // The buffer is SQLite's page, which is nobody else's while it is written; its end is as before afterwards.
  let end = UnsafeMutableRawPointer(mutating: buffer) + Int(count - PageFile.reserve)
  let before = end.loadUnaligned(as: UInt64.self)
  end.storeBytes(of: pageChecksum(buffer, count).littleEndian, as: UInt64.self)
  defer { end.storeBytes(of: before, as: UInt64.self) }
  return file.realMethods.xWrite(file.real, buffer, count, offset)
}

/// Follows what SQLite writes into the log. A page without its header before it overwrites a frame of the same
/// transaction; the headers from there on are wrong until they are written, beginning with that one.
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
