import CofferCSQLite
import Foundation

/// The state of a store's write-ahead log at one moment.
package struct LogStatus: Sendable {
  /// The size of the log file in bytes.
  package let bytes: Int
  /// The number of frames in use, of one page each; the rest of the file is reserved for later commits.
  package let frames: Int
  /// The number of frames not yet copied into the database.
  package let uncopied: Int
  /// The processes that read an older state and so keep the log from restarting. A short read counts, too, if it is
  /// under way at that moment.
  package let readers: [LockHolder]

  /// The size in bytes that the log stays below unless a reader holds it back or a single transaction is larger.
  package static let usualLimit = 16 << 20

  /// Whether the log exceeds ``usualLimit`` with frames left to copy.
  package var isTooLong: Bool { bytes >= Self.usualLimit && uncopied > 0 }

  init(_ file: StoreFile, _ log: coffer_sqlite_log?) {
    var status = stat()
    bytes = stat(file.logPath, &status) == 0 ? Int(status.st_size) : 0
    guard let log else {
      (frames, uncopied, readers) = (0, 0, [])
      return
    }
    frames = Int(log.frames)
    uncopied = Int(max(log.frames, log.copied) - log.copied)
    // Readers under the first lock read the database alone, so nothing may be copied into it; those under the others
    // read the log up to their mark, beyond which nothing may be copied.
    let marks = [0, log.marks.1, log.marks.2, log.marks.3, log.marks.4]
    let isCopied = log.copied == log.frames
    var found: [LockHolder] = []
    for (index, mark) in marks.enumerated() where isCopied ? index > 0 && mark == log.frames : mark < log.frames {
      let byte = LockHolder.Byte.reads.lowerBound + UInt64(index)
      for holder in LockHolder.holders(of: byte...byte, file) where !found.contains(holder) { found.append(holder) }
    }
    readers = found
  }
}

extension SQLiteEngine {
  /// Returns the state of the write-ahead log and the readers that keep it from restarting.
  /// - Throws: `closed`.
  package func logStatus() throws -> LogStatus {
    LogStatus(try openCore().file, isReadOnly ? nil : try read { $0.connection.log })
  }
}
