import CofferCSQLite
import CofferCore
import Foundation

extension StorePlace {
  /// Whether a page without a checksum has to be taken as it is when the store is opened: another program, which knows
  /// nothing of checksums, may have copied the log into the database after a crash, or have written all of it anew.
  var mayHaveUnsealedPages: Bool {
    if let words = WakeWords(ofFileAt: wakePath), let count = words.closedAt, count == changeCount {
      return false
    }
    var status = stat()
    return !(stat(logPath, &status) == 0 && status.st_size > 0)
  }

  /// What SQLite counts up in a database's header when it writes there, whichever program it is in. It is read through
  /// SQLite: to close a descriptor of one's own would take away the locks that this process has on the file.
  var changeCount: UInt32? {
    guard let connection = try? Connection(self), let file = coffer_sqlite_main_file(connection.handle) else {
      return nil
    }
    var count: UInt32 = 0
    return file.readRaw(&count, 4, 24) ? UInt32(bigEndian: count) : nil
  }
}

/// What came of giving pages checksums.
enum Sealing {
  /// All pages have one.
  case sealed
  /// Somebody copies the log into the database: not now.
  case busy
  /// The rows do not prove themselves: pages without a checksum are damaged.
  case unproven
}

extension Connection {
  /// Gives each page of the database that has no checksum one. Reads the whole file.
  ///
  /// Pages whose ends were zeroed have none, either: so the rows have to prove themselves before.
  func sealPages() throws -> Sealing {
    guard isSealed, let file = coffer_sqlite_main_file(handle) else { return .sealed }
    try execute("BEGIN")
    defer { rollBack() }
    _ = try number("SELECT count(*) FROM sqlite_schema")  // maps the index of the log, where the lock is
    guard coffer_sqlite_checkpoint_lock(handle, 1) == SQLITE_OK else { return .busy }
    defer { _ = coffer_sqlite_checkpoint_lock(handle, 0) }
    // Only checkpoints write to the database, and nobody else makes one now.
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

  /// Whether all rows are there, in order and as they were written.
  private var rowsAreWhole: Bool {
    guard let proof = try? Reader(place, onDamage: { _ in }).proveRows() else { return false }
    return proof.isComplete && proof.isOrdered && proof.damaged == 0
  }
}
