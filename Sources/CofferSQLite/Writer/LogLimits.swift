import CofferCSQLite
import Dispatch

/// When a writer copies the write-ahead log, and how long it waits for readers that hold the log back.
struct LogLimits {
  /// How long readers may keep a writer from starting the log again, in milliseconds.
  private static let usualPatience = 50
  /// How long after readers were waited for in vain they are not waited for again, in nanoseconds.
  private static let rest: UInt64 = 1_000_000_000

  private var nextCheckpoint = Checkpointer.threshold
  private var nextLimit = Checkpointer.limit
  private var restsUntil: UInt64 = 0

  /// How long to wait for locks while the log is started again, in milliseconds.
  var patience: Int { DispatchTime.now().uptimeNanoseconds < restsUntil ? 0 : Self.usualPatience }

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

  /// Notes what came of an attempt. A log that a reader holds back is tried again when it has grown by a threshold.
  mutating func wasTried(_ log: coffer_sqlite_log?, succeeded: Bool) {
    guard !succeeded else {
      nextLimit = Checkpointer.limit
      return
    }
    if patience > 0 { restsUntil = DispatchTime.now().uptimeNanoseconds + Self.rest }
    nextLimit = max(Checkpointer.limit, Int(log?.frames ?? 0) + Checkpointer.threshold)
  }
}
