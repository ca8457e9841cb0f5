import CofferCSQLite
import CofferCore
import Foundation

/// Bounding the length of the write-ahead log.
extension GroupCommitter {
  /// Copies the rest of the log into the database and restarts the log with a short commit: a restart syncs, which must
  /// not happen in a relaxed commit on a caller's thread.
  ///
  /// - Parameter code: The result of the concurrent copying of most of the log.
  /// - Throws: `outcomeUnknown` if a sync has failed.
  func finishCheckpoint(_ code: Int32) throws {
    if coffer_sqlite_is_lost_sync(code) == 1 { throw lostSync(code) }
    guard let log = connection.log, log.frames >= Checkpointer.threshold else { return }
    try startLogAgain(isTooLong: false)
    guard let log = connection.log, log.frames > 0, log.copied == log.frames else { return }
    try housekeep {
      let now = clock.now().unixMilliseconds
      try connection.execute(
        """
        INSERT INTO coffer_meta VALUES ('copied_at', \(now))
        ON CONFLICT (name) DO UPDATE SET value = max(value + 1, excluded.value)
        """)
    }
  }

  /// Copies all of the log while it excludes writers, and waits for readers of the log, so that the next commit of any
  /// process writes to its beginning.
  ///
  /// - Parameter isTooLong: Whether commits wait for it.
  /// - Throws: `outcomeUnknown` if a sync has failed.
  func startLogAgain(isTooLong: Bool) throws {
    let patience = logLimits.patience(isTooLong: isTooLong)
    let mode: LockFile.Mode = isTooLong ? .patient(milliseconds: patience) : .exclusive
    let start = isTooLong && events != nil ? ContinuousClock.now : nil
    let before = connection.log
    let lock = try connection.file.checkpointLock(mode)
    // A process that is copying now does so for all of them.
    let code =
      lock == nil
      ? SQLITE_BUSY
      : withExtendedLifetime(lock) {
        connection.waiting(LockWait(milliseconds: patience)) { connection.checkpoint(SQLITE_CHECKPOINT_RESTART) }
      }
    if coffer_sqlite_is_lost_sync(code) == 1 { throw lostSync(code) }
    if let start, let before, code == SQLITE_OK {
      let pages = Int(before.frames) - Int(before.copied)
      let facts = StoreEvent.Checkpoint(pages: pages, duration: .now - start, delayedCommits: true)
      events?.emitLater(connection.file.description, .checkpointed(facts))
    }
    if isTooLong { logLimits.wasTried(connection.log, succeeded: code == SQLITE_OK) }
  }
}
