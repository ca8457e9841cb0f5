import CofferCSQLite
import CofferCore
import Foundation

/// How the one connection that writes keeps the write-ahead log short.
extension GroupCommitter {
  /// Copies the rest of the log into the database and starts the log again with a short commit: starting it syncs,
  /// which must not happen in a relaxed commit on a caller's thread.
  ///
  /// - Parameter code: what came of copying most of it beside the writer.
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

  /// Copies all of the log while nobody writes and waits until nobody reads it, so that the next commit, of whatever
  /// process, writes to its beginning.
  ///
  /// - Parameter isTooLong: whether commits wait for it.
  func startLogAgain(isTooLong: Bool) throws {
    let patience = logLimits.patience(isTooLong: isTooLong)
    let mode: LockFile.Mode = isTooLong ? .patient(milliseconds: patience) : .exclusive
    let lock = try connection.place.checkpointLock(mode)
    // Another process that copies now does it for all.
    let code =
      lock == nil
      ? SQLITE_BUSY
      : withExtendedLifetime(lock) {
        connection.waiting(LockWait(milliseconds: patience)) { connection.checkpoint(SQLITE_CHECKPOINT_RESTART) }
      }
    if coffer_sqlite_is_lost_sync(code) == 1 { throw lostSync(code) }
    if isTooLong { logLimits.wasTried(connection.log, succeeded: code == SQLITE_OK) }
  }
}
