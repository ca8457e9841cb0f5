import CofferSQLite
import CofferTerminal
import Foundation

/// The progress line of a backup on a terminal, drawn at most ten times a second. It is `Sendable` because its lock is
/// held around every use of the line.
final class BackupLine: @unchecked Sendable {
  private let lock = NSLock()
  private let line = ProgressLine("")
  private var lastShown: ContinuousClock.Instant?

  var elapsed: Duration { lock.withLock { line.elapsed } }

  @Sendable func update(_ progress: BackupProgress) {
    lock.withLock {
      let now = ContinuousClock.now
      if let lastShown, now - lastShown < .milliseconds(100) { return }
      lastShown = now
      let what = progress.phase == .copying ? "Copying" : "Checking"
      line.show("\(what): \(byteCount(progress.bytes)) of \(byteCount(progress.totalBytes))")
    }
  }

  func clear() { lock.withLock { line.clear() } }
}
