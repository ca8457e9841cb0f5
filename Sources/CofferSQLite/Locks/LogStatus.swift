import CofferCSQLite
import Foundation

/// The write-ahead log of a store at one moment.
package struct LogStatus: Sendable {
  /// The size of the log's file in bytes.
  package let bytes: Int
  /// How many frames it holds, of one page each; the rest of the file is kept for later commits.
  package let frames: Int
  /// How many of them are not copied into the database yet.
  package let uncopied: Int
  /// The processes that read an older state, so that the log cannot start again. A short read is seen, too, if it
  /// happens at that moment.
  package let readers: [LockHolder]

  /// The size in bytes below which the log stays unless a reader holds it back or one transaction is larger.
  package static let usualLimit = 16 << 20

  /// Whether the log has grown beyond what it needs.
  package var isTooLong: Bool { bytes >= Self.usualLimit && uncopied > 0 }

  init(_ place: StorePlace, _ log: coffer_sqlite_log?) {
    var status = stat()
    bytes = stat(place.logPath, &status) == 0 ? Int(status.st_size) : 0
    guard let log else {
      (frames, uncopied, readers) = (0, 0, [])
      return
    }
    frames = Int(log.frames)
    uncopied = Int(max(log.frames, log.copied) - log.copied)
    // Under the first lock are those that read the database alone, so that nothing may be copied into it; under the
    // others those that see the log up to a mark, beyond which nothing may be copied.
    let marks = [0, log.marks.1, log.marks.2, log.marks.3, log.marks.4]
    let isCopied = log.copied == log.frames
    var found: [LockHolder] = []
    for (index, mark) in marks.enumerated() where isCopied ? index > 0 && mark == log.frames : mark < log.frames {
      let byte = LockHolder.Byte.reads.lowerBound + UInt64(index)
      for holder in LockHolder.holders(of: byte...byte, place) where !found.contains(holder) { found.append(holder) }
    }
    readers = found
  }
}

extension SQLiteEngine {
  /// Looks at the write-ahead log and at who holds it back.
  package func logStatus() throws -> LogStatus {
    if let readOnlyStore { return LogStatus(readOnlyStore.place, nil) }
    let store = try openStore()
    return LogStatus(store.place, try store.readers.read { $0.connection.log })
  }
}
