import CofferCSQLite
import CofferCore
import Foundation

extension StoreFile {
  /// Whether pages without a checksum must be accepted when the store is opened: another program, which does not write
  /// checksums, may have copied the log into the database after a crash, or rewritten the whole database.
  var mayHaveUnsealedPages: Bool { mayHaveUnsealedPages(WakeWords(ofFileAt: wakePath), changeCount) }

  fileprivate func mayHaveUnsealedPages(_ words: WakeWords?, _ changeCount: @autoclosure () -> UInt32?) -> Bool {
    if let count = words?.closedAt, count == changeCount() {
      return false
    }
    var status = stat()
    return !(stat(logPath, &status) == 0 && status.st_size > 0)
  }

  /// The file change counter in the database header, which SQLite increments in every program; `nil` if it cannot be
  /// read. It is read through SQLite, since closing another descriptor would release the file locks of this process.
  var changeCount: UInt32? { (try? Connection(self))?.changeCount }
}

/// The result of adding checksums to pages.
enum Sealing {
  /// All pages have a checksum.
  case sealed
  /// Another connection is copying the log into the database, or the sync failed; try again later.
  case busy
  /// The rows could not be proven, so the pages without a checksum count as damaged.
  case unproven
}

extension Connection {
  /// The same of an open database, before a page of it is read.
  func mayHaveUnsealedPages(_ words: WakeWords?) -> Bool { file.mayHaveUnsealedPages(words, changeCount) }

  fileprivate var changeCount: UInt32? {
    var count: UInt32 = 0
    guard let file = coffer_sqlite_main_file(handle), file.readRaw(&count, 4, 24) else { return nil }
    return UInt32(bigEndian: count)
  }

  /// Adds a checksum to each page of the database that has none. Reads the whole file.
  ///
  /// A damaged page whose end is zeroed looks the same, so the rows are proven first.
  func sealPages() throws -> Sealing {
    guard isSealed, let file = coffer_sqlite_main_file(handle) else { return .sealed }
    try execute("BEGIN")
    defer { rollBack() }
    _ = try number("SELECT count(*) FROM sqlite_schema")  // maps the index of the log, where the lock is
    guard coffer_sqlite_checkpoint_lock(handle, 1) == SQLITE_OK else { return .busy }
    defer { _ = coffer_sqlite_checkpoint_lock(handle, 0) }
    // Only checkpoints write to the database file, and the lock excludes them.
    let size = file.page.pointee.pageSize
    let buffer = UnsafeMutableRawPointer.allocate(byteCount: Int(size), alignment: 8)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    var hasWritten = false
    var isProven: Bool?
    while file.readRaw(buffer, size, offset) {
      var word = buffer.loadUnaligned(fromByteOffset: Int(size - PageFile.reserve), as: UInt64.self)
      if word == 0, !isZero(buffer, size) {
        if isProven == nil { isProven = rowsAreWhole }
        guard isProven == true else { return .unproven }
        word = pageChecksum(buffer, size).littleEndian
        let code = file.realMethods.xWrite(
          file.real, &word, PageFile.reserve, offset + Int64(size) - Int64(PageFile.reserve))
        guard code == SQLITE_OK else { throw error(code) }
        hasWritten = true
      }
      offset += Int64(size)
    }
    if hasWritten, file.realMethods.xSync(file.real, SQLITE_SYNC_NORMAL) != SQLITE_OK { return .busy }
    return .sealed
  }

  /// Whether all rows are present, ordered and intact.
  private var rowsAreWhole: Bool {
    var file = file
    file.allowsUnsealedPages = allowsUnsealedPages
    guard let proof = try? Reader(file, onDamage: { _ in }).proveRows() else { return false }
    return proof.isComplete && proof.isOrdered && proof.damaged == 0
  }
}
