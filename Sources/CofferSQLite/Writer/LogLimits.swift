import CofferCSQLite
import Dispatch

/// When a writer copies the write-ahead log, and how long it waits for readers that hold the log back.
struct LogLimits {
  /// How long commits wait for others while a log that is too long is started again, in milliseconds: longer than a
  /// process on a busy machine waits for its turn.
  private static let usualPatience = 500
  /// How long they wait while somebody is known to hold the log back, and before the log is too long.
  private static let shortPatience = 20
  /// How long after a wait in vain there is none again, in nanoseconds: at most a tenth of the time is waited.
  private static let rest: UInt64 = 5_000_000_000

  private var nextCheckpoint = Checkpointer.threshold
  private var nextLimit = Checkpointer.limit
  private var restsUntil: UInt64 = 0

  /// How long to wait for locks while the log is started again, in milliseconds.
  func patience(isTooLong: Bool) -> Int {
    isTooLong && DispatchTime.now().uptimeNanoseconds >= restsUntil ? Self.usualPatience : Self.shortPatience
  }

  /// Whether copying beside the commits is due; once per threshold.
  mutating func takeDue(_ log: coffer_sqlite_log?) -> Bool {
    guard let log, log.copied < log.frames else { return false }
    let frames = Int(log.frames)
    if frames < Checkpointer.threshold {  // The log has started again.
      (nextCheckpoint, nextLimit) = (Checkpointer.threshold, Checkpointer.limit)
    }
    guard frames >= nextCheckpoint else { return false }
    nextCheckpoint = frames + Checkpointer.threshold
    return true
  }

  /// Whether the next commit waits until the log was copied. Frames that are all copied do not count: that commit
  /// starts the log again.
  func isTooLong(_ log: coffer_sqlite_log?) -> Bool {
    guard let log, log.copied < log.frames else { return false }
    return Int(log.frames) >= nextLimit
  }

  /// Notes what came of an attempt to start a log again that was too long. One that is held back is tried again when
  /// it has grown by a threshold.
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
