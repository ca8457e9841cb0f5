import CofferCSQLite
import CofferCore
import Dispatch

/// Copies the write-ahead log into the database concurrently with commits, on a separate connection and queue.
///
/// The log restarts from its beginning only when all of it has been copied and no reader uses it. So after the long
/// part, which runs concurrently with the writers of all processes, the writer's thread holds the write lock and copies
/// the few frames added meanwhile (``GroupCommitter/startLogAgain(isTooLong:)``).
final class Checkpointer: Sendable {
  /// The length of the log in frames at which copying starts: 4 MB, the default of SQLite.
  static let threshold = 1_000
  /// The length of the log in frames, 8 MB, at which commits wait until it is copied.
  static let limit = 2_000

  private let queue = DispatchQueue(label: "coffer.checkpoint", qos: .utility)
  private let file: StoreFile
  private let files: OpenFiles
  private let events: CofferEvents?
  private let isScheduled = Locked(false)
  private let connection = Locked<Connection?>(nil)  // touched on the queue only

  init(_ file: StoreFile, _ files: OpenFiles, _ events: CofferEvents?) {
    (self.file, self.files, self.events) = (file, files, events)
  }

  /// Starts copying unless it is under way, then calls `finish` with SQLite's result code: the writer copies the rest.
  func start(finish: @escaping @Sendable (Int32) -> Void) {
    let isFirst = isScheduled.withLock { isScheduled in
      defer { isScheduled = true }
      return !isScheduled
    }
    guard isFirst else { return }
    queue.async { [self] in
      let span = events?.begin(.checkpoint, at: file.description)
      let start = events.map { _ in ContinuousClock.now }
      let copying = checkpoint()
      isScheduled.withLock { $0 = false }
      if let copying { finish(copying.code) }
      if let start, let pages = copying?.pages, pages > 0 {
        let facts = StoreEvent.Checkpoint(pages: pages, duration: .now - start, delayedCommits: false)
        events?.emit(StoreEvent(location: file.description, .checkpointed(facts)), in: span)
      }
      events?.end(span)
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

  /// Copies the log and returns SQLite's result code with the number of copied pages, or `nil` if another process is
  /// copying.
  private func checkpoint() -> (code: Int32, pages: Int)? {
    guard let lock = try? file.checkpointLock(.exclusive) else { return nil }
    return withExtendedLifetime(lock) {
      connection.withLock { connection in
        // If opening fails, the writer copies everything.
        if connection == nil {
          connection = try? file.connect(files) {
            _ = try $0.number("PRAGMA schema_version")  // The first statement opens the log.
            return $0
          }
        }
        guard let connection else { return (SQLITE_OK, 0) }
        let before = connection.log?.copied ?? 0
        let code = connection.checkpoint(SQLITE_CHECKPOINT_PASSIVE)
        return (code, Int(connection.log?.copied ?? before) - Int(before))
      }
    }
  }
}

extension StoreFile {
  /// Takes the lock under which one process at a time copies the log; returns `nil` if another process holds it.
  ///
  /// Up to 3.51.2, SQLite loses commits if a checkpoint reads a log of N frames that are all copied and a commit
  /// restarts the log before the checkpoint reads how many are copied: it then records N copied frames of the new log,
  /// and later checkpoints skip these. A commit restarts the log only when all frames are copied. So under this lock a
  /// checkpoint begins only while some are not (``Connection/checkpoint(_:)``): only another checkpoint could change
  /// that, and the lock excludes it. SQLite's checkpoint on closing the last connection does not need this lock: it
  /// runs under an exclusive lock of the database.
  func checkpointLock(_ mode: LockFile.Mode) throws -> LockFile? {
    try LockFile(lockPath, mode, location: description, like: path)
  }
}

extension Connection {
  /// The state of the write-ahead log; `nil` before the first read of the connection.
  var log: coffer_sqlite_log? {
    var log = coffer_sqlite_log()
    return coffer_sqlite_log_state(handle, &log) == 1 ? log : nil
  }

  /// Copies the log into the database and empties it, waiting for writers and readers.
  /// - Throws: `busy` if they do not finish within the busy timeout.
  func emptyLog() throws {
    guard let lock = try file.checkpointLock(.patient(milliseconds: file.busyTimeout)) else {
      throw StorageError(
        .busy, "Another process has been copying the store's log for too long.",
        advice: "Try again, or look for a process that hangs.", location: file.description)
    }
    try withExtendedLifetime(lock) {
      // SQLite excludes writers meanwhile; if it cannot, it copies concurrently with them.
      if let log, log.copied == log.frames {
        try execute("BEGIN IMMEDIATE")
        rollBack()
      }
      let code = sqlite3_wal_checkpoint_v2(handle, "main", SQLITE_CHECKPOINT_TRUNCATE, nil, nil)
      guard code == SQLITE_BUSY else { if code == SQLITE_OK { return } else { throw error(code) } }
      let readers = LockHolder.holders(of: LockHolder.Byte.reads, file).map(\.description)
      throw StorageError(
        .busy,
        "The store's log cannot be emptied: it is in use"
          + (readers.isEmpty ? "." : " by \(readers.joined(separator: ", "))."),
        advice: "Wait for other readers and writers to finish, then try again.", location: file.description)
    }
  }

  /// Copies the log into the database if any frame is left to copy, and returns SQLite's result code. Call it only
  /// under ``StoreFile/checkpointLock(_:)``.
  func checkpoint(_ mode: Int32) -> Int32 {
    guard let log, log.copied < log.frames else { return SQLITE_OK }
    return sqlite3_wal_checkpoint_v2(handle, "main", mode, nil, nil)
  }
}
