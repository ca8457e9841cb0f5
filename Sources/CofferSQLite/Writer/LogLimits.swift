import CofferCSQLite
import Dispatch

/// The policy of when a writer copies the write-ahead log, and how long it waits for readers that hold the log back.
struct LogLimits {
  /// How long commits wait for other processes while an overlong log is restarted, in milliseconds: longer than the
  /// scheduling delay of a process on a busy machine.
  private static let usualPatience = 500
  /// How long they wait while a reader is known to hold the log back, and before the log is too long, in milliseconds.
  private static let shortPatience = 20
  /// The pause after an unsuccessful wait, in nanoseconds, so that at most a tenth of the time is spent waiting.
  private static let rest: UInt64 = 5_000_000_000

  private var nextCheckpoint = Checkpointer.threshold
  private var nextLimit = Checkpointer.limit
  private var restsUntil: UInt64 = 0

  /// Returns how long to wait for locks while the log is restarted, in milliseconds.
  func patience(isTooLong: Bool) -> Int {
    isTooLong && DispatchTime.now().uptimeNanoseconds >= restsUntil ? Self.usualPatience : Self.shortPatience
  }

  /// Whether copying concurrently with commits is due; `true` once per threshold.
  mutating func takeDue(_ log: coffer_sqlite_log?) -> Bool {
    guard let log, log.copied < log.frames else { return false }
    let frames = Int(log.frames)
    if frames < Checkpointer.threshold {  // The log has been restarted.
      (nextCheckpoint, nextLimit) = (Checkpointer.threshold, Checkpointer.limit)
    }
    guard frames >= nextCheckpoint else { return false }
    nextCheckpoint = frames + Checkpointer.threshold
    return true
  }

  /// Whether the next commit waits until the log is copied. A log whose frames are all copied is not too long, since
  /// that commit restarts it.
  func isTooLong(_ log: coffer_sqlite_log?) -> Bool {
    guard let log, log.copied < log.frames else { return false }
    return Int(log.frames) >= nextLimit
  }

  /// Records the outcome of an attempt to restart an overlong log. After a failure the next attempt is made once the
  /// log has grown by another threshold.
  mutating func wasTried(_ log: coffer_sqlite_log?, succeeded: Bool) {
    guard !succeeded else {
      nextLimit = Checkpointer.limit
      return
    }
    let now = DispatchTime.now().uptimeNanoseconds
    if now >= restsUntil { restsUntil = now + Self.rest }
    nextLimit = max(Checkpointer.limit, Int(log?.frames ?? 0) + Checkpointer.threshold)
  }
}
