import Coffer
import CofferSQLite
import CofferTerminal

/// The check of a database's write-ahead log.
struct LogCheck {
  let store: String
  let log: LogStatus?

  /// Returns a warning for a log of 16 MB or more, with the processes whose snapshots hold it back.
  func all() -> [Finding] {
    guard let log, log.isTooLong else { return [] }
    let readers = log.readers.map { $0.description.oneLine() }.joined(separator: ", ")
    return [
      .warning(
        store, "Its log has \(byteCount(log.bytes))" + (readers.isEmpty ? "." : ": \(readers) reads an old snapshot."),
        fix: readers.isEmpty
          ? "It shrinks with the next commits." : "End the snapshot or that program; the log then shrinks.")
    ]
  }
}
