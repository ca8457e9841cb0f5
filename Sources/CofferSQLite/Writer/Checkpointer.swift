import CofferCSQLite
import CofferCore
import CofferLocks
import Dispatch

/// Copies the write-ahead log into the database beside the commits, on a connection and a queue of its own.
///
/// The log starts again from its beginning only when all of it has been copied and nobody reads it. So after the long
/// part, which runs beside the writers of all processes, the writer's thread copies the few frames that have come
/// meanwhile while it keeps others from writing (``GroupCommitter/startLogAgain(isTooLong:)``).
final class Checkpointer: Sendable {
  /// The length of the log in frames at which copying starts: 4 MB, as SQLite's own default.
  static let threshold = 1_000
  /// The length of the log in frames, 8 MB, at which commits wait until it was copied.
  static let limit = 2_000

  private let queue = DispatchQueue(label: "coffer.checkpoint", qos: .utility)
  private let place: StorePlace
  private let isScheduled = Locked(false)
  private let connection = Locked<Connection?>(nil)  // touched on the queue only

  init(_ place: StorePlace) { self.place = place }

  /// Starts copying unless it is under way, then calls `finish` with SQLite's code: the writer copies the rest.
  func start(finish: @escaping @Sendable (Int32) -> Void) {
    let isFirst = isScheduled.withLock { isScheduled in
      defer { isScheduled = true }
      return !isScheduled
    }
    guard isFirst else { return }
    queue.async { [self] in
      let code = checkpoint()
      isScheduled.withLock { $0 = false }
      if let code { finish(code) }
    }
  }

  /// Closes the connection once the work under way is done.
  func close() async {
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        connection.withLock { $0 = nil }
        continuation.resume()
      }
    }
  }

  /// SQLite's code, or `nil` when another process is copying.
  private func checkpoint() -> Int32? {
    guard let lock = try? place.checkpointLock(.exclusive) else { return nil }
    return withExtendedLifetime(lock) {
      connection.withLock { connection in
        // If it cannot be opened now, the writer does all of it.
        if connection == nil { connection = try? Connection(place) }
        // Its first statement opens the log.
        _ = try? connection?.number("PRAGMA schema_version")
        return connection?.checkpoint(SQLITE_CHECKPOINT_PASSIVE) ?? SQLITE_OK
      }
    }
  }
}

extension StorePlace {
  /// The lock under which one process at a time copies the log; `nil` when another holds it.
  ///
  /// Up to 3.51.2, SQLite loses commits when a checkpoint reads a log of N frames that are all copied and a commit
  /// starts the log again before the checkpoint looks at how many are copied: it then records N copied frames of the
  /// new log, and later checkpoints leave these out. A commit starts the log again only when all frames are copied.
  /// So under this lock a checkpoint begins only while some are not (``Connection/checkpoint(_:)``): only a checkpoint
  /// could change that, and there is no other. SQLite's own checkpoint at the close of the last connection needs no
  /// lock of ours: it runs under an exclusive lock of the database.
  func checkpointLock(_ mode: LockFile.Mode) throws -> LockFile? {
    try LockFile(lockPath, mode, backend: description)
  }
}

extension Connection {
  /// The state of the write-ahead log; `nil` before the connection has read anything.
  var log: coffer_sqlite_log? {
    var log = coffer_sqlite_log()
    return coffer_sqlite_log_state(handle, &log) == 1 ? log : nil
  }

  /// Copies the log into the database and empties it, waiting for writers and readers.
  func emptyLog() throws {
    guard let lock = try place.checkpointLock(.patient(milliseconds: place.busyTimeout)) else {
      throw StorageError(
        .busy, "Another process has been copying the store's log for too long.",
        advice: "Try again, or look for a process that hangs.", backend: place.description)
    }
    try withExtendedLifetime(lock) {
      // SQLite keeps writers out meanwhile; where it cannot, it copies beside them.
      if let log, log.copied == log.frames {
        try execute("BEGIN IMMEDIATE")
        rollBack()
      }
      let code = sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
      guard code == SQLITE_BUSY else { if code == SQLITE_OK { return } else { throw error(code) } }
      let readers = LockHolder.holders(of: LockHolder.Byte.reads, place).map(\.description)
      throw StorageError(
        .busy,
        "The store's log cannot be emptied: it is in use"
          + (readers.isEmpty ? "." : " by \(readers.joined(separator: ", "))."),
        advice: "Let others end what they read and write, then try again.", backend: place.description)
    }
  }

  /// Copies the log into the database, if anything is left to copy; answers with SQLite's code. Only under
  /// ``StorePlace/checkpointLock(_:)``.
  func checkpoint(_ mode: Int32) -> Int32 {
    guard let log, log.copied < log.frames else { return SQLITE_OK }
    return sqlite3_wal_checkpoint_v2(handle, "main", mode, nil, nil)
  }
}
