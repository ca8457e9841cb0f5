import CofferCore
import CofferTerminal
import WatchifyKit

/// Reports a running watch to the service manager that has started it, if any: when it is ready, what it does, that it
/// makes progress, and when it stops.
final class ServiceReport: Sendable {
  /// The progress of the loop, which feeds the manager's watchdog.
  let pulse = LoopPulse()
  private let notifier: ServiceNotifier?
  private let keeper: Task<Void, Never>?
  private let hasTold = Locked(false)

  init(_ notifier: ServiceNotifier?) {
    self.notifier = notifier
    let pulse = pulse
    keeper = notifier.map { notifier in Task.detached { await notifier.keepAlive(by: pulse) } }
  }

  /// Reports that the database is open and the loop runs.
  func begin(watching stores: Int) {
    // The loop began before; what it does says more.
    let text = stores == 0 ? "No store is followed yet" : "Watching \(counted(stores, "store"))"
    notifier?.notify(.ready, status: hasTold.withLock { $0 } ? nil : text)
  }

  func tell(_ status: BackgroundSync.Status) {
    let text =
      switch status {
      case .syncing: "Syncing the stores"
      case .waiting(let until): "Next sync \(Moment.text(until))"
      case .resting(let until): "Paused until \(Moment.text(until)): Shopify has asked for a pause"
      case .offline: "No network: syncing resumes when it is back"
      case .failed(let words): "The database failed: \(words.oneLine(limit: 200))"
      }
    hasTold.withLock { $0 = true }
    notifier?.notify(status: text)
  }

  /// Reports the beginning of the end, for which the manager allows its own time.
  func stop() { notifier?.notify(.stopping, status: "Ending") }

  /// Ends the keep-alive messages.
  func end() { keeper?.cancel() }
}
