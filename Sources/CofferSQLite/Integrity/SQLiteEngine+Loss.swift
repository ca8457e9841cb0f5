import CofferCore
import CofferLocks

extension SQLiteEngine {
  /// Acknowledged commits that the store does not have any more, until somebody accepts that; `nil` when there are none.
  public func loss() async throws -> LossReport? { try openStore().loss.withLock { $0 } }

  /// Accepts what was lost: the store goes on with what it has, and does not speak of it any more.
  ///
  /// What rows the store should have is counted anew, too.
  public func acceptLoss() async throws {
    let store = try openStore()
    try await store.writer.perform { try $0.acceptLoss() }
    store.acceptLoss()
  }
}

extension SQLiteStore {
  fileprivate func acceptLoss() {
    loss.withLock { $0 = nil }
    provenRows.withLock { $0 = nil }
    availabilityFeed.set(.available)
  }
}

extension GroupCommitter {
  /// Forgets what was lost, and takes the rows that are there for all there are.
  fileprivate func acceptLoss() throws {
    try recount()
    try housekeep { try LossReport.forget($0) }
  }
}
