import CofferCore
import CofferSQLite
import Foundation

/// What a store in slots needs to be written: the recovery and the reconciliation that keep its journal consistent with
/// the slots, and the times of sweeps.
final class SlotWriter: Sendable {
  let journal: SQLiteEngine
  let quarantine: SlotQuarantine
  let reconciler: SlotReconciler
  let gate = CommitGate()
  let sweeping: SweepSchedule
  /// The recovery that opening starts. Listings wait for it.
  let recovery: SlotRecovery
  private let handle: SlotHandle

  /// - Parameter quarantined: the number of staged values found without a journal, if that is known already.
  init(_ handle: SlotHandle, _ journal: SQLiteEngine, quarantined: Int?, queue: DispatchQueue) throws {
    self.handle = handle
    self.journal = journal
    sweeping = SweepSchedule(isNeeded: try journal.read { try $0.hasExpiries() })
    quarantine = SlotQuarantine(handle, journal)
    let reconciler = SlotReconciler(handle: handle, journal: journal, quarantine: quarantine, queue: queue)
    self.reconciler = reconciler
    recovery = SlotRecovery {
      let orphans = handle.hasNewJournal ? try quarantined ?? handle.quarantineOrphans() : nil
      let report = try await reconciler.recover(quarantined: orphans)
      let isWorthTelling =
        report.completed > 0 || report.edited > 0 || report.quarantined > 0 || !report.lost.isEmpty
      if isWorthTelling {
        handle.configuration.events?.emitLater(handle.name, .recovered(report))
        handle.configuration.onRecovery?(report)
      }
      return report
    }
  }

  /// Waits for what is in progress, and publishes what is left.
  func close() async {
    await gate.close()
    await recovery.settled()
    await reconciler.close()
    try? await journal.perform { [handle] in try handle.publish($0) }  // leaves nothing for the next open
  }
}
