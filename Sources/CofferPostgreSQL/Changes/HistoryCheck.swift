import CofferCore
import CofferLocks
import Foundation

/// What a process knows of the history of a store, by which it recognizes another one.
///
/// After a failover that has lost commits, or the restoration of a backup, another process may have committed as many
/// again before this one looks: the head alone does not show it.
final class HistoryCheck: Sendable {
  private struct State {
    /// The newest commit whose transaction this process knows.
    var newest: (revision: StoreRevision, transaction: TransactionID)?
    /// The number of changes of the server instance, and that of those after which was looked.
    var changes = 0
    var checked = 0
    /// The check that is under way.
    var running: Task<Bool, any Error>?
    /// Runs a check, if one is due.
    var check: (@Sendable () async throws -> Bool)?
  }

  /// The commit to look for in the journal, and after which change of the instance.
  struct Due {
    let revision: StoreRevision
    let transaction: TransactionID
    let change: Int
  }

  private let state = Locked(State())

  /// Sets what ``check()`` runs: the check of the store, which readers of the journal do not know.
  func setCheck(_ check: @escaping @Sendable () async throws -> Bool) { state.withLock { $0.check = check } }

  /// Runs a check, if one is due.
  /// - Returns: whether the history is another one.
  func check() async throws -> Bool {
    guard due != nil, let check = state.withLock({ $0.check }) else { return false }
    return try await check()
  }

  /// Makes a check due: another server instance has confirmed a commit.
  func noteChange() { state.withLock { $0.changes += 1 } }

  /// Notes a commit of this process, or one that it has read from the journal. While a check is due, the commit to look
  /// for stays.
  func note(_ revision: StoreRevision, _ transaction: TransactionID) {
    state.withLock { state in
      if state.changes != state.checked, state.newest != nil { return }
      if state.newest.map({ $0.revision < revision }) ?? true { state.newest = (revision, transaction) }
    }
  }

  /// What to look for, if a check is due.
  var due: Due? {
    state.withLock { state in
      guard state.changes != state.checked, let newest = state.newest else { return nil }
      return Due(revision: newest.revision, transaction: newest.transaction, change: state.changes)
    }
  }

  /// Notes that the history is the known one, after a change of the instance.
  func pass(_ change: Int) { state.withLock { $0.checked = max($0.checked, change) } }

  /// Notes that another history has begun, of which no commit is known yet.
  func begin() { state.withLock { $0.newest = nil } }

  /// Runs a check, or awaits the one that is under way.
  func once(_ check: @escaping @Sendable () async throws -> Bool) async throws -> Bool {
    let running = state.withLock { state -> Task<Bool, any Error> in
      if let running = state.running { return running }
      let running = Task {
        defer { self.state.withLock { $0.running = nil } }
        return try await check()
      }
      state.running = running
      return running
    }
    return try await running.value
  }
}

extension PostgreSQLStore {
  private static let lookup = ServerStatement(
    """
    SELECT (SELECT transaction FROM coffer.journal WHERE store = $1 AND revision = $2),
      coalesce((SELECT min(revision) FROM coffer.journal WHERE store = $1), 0), head, epoch
    FROM coffer.stores WHERE store = $1
    """, [.int8, .int8])

  /// Looks whether the newest commit that this process knows is in the journal, if another server instance is used
  /// since the last look. If it is not, the revisions continue beyond all that were announced, under a new epoch.
  /// - Returns: whether the history is another one.
  func checkHistory() async throws -> Bool {
    guard history.due != nil else { return false }
    return try await history.once { [self] in try await lookForHistory() }
  }

  private func lookForHistory() async throws -> Bool {
    guard let known = history.due else { return false }
    let rows = try await database.read(
      ServerCall(Self.lookup, [.int8(id), .int8(Int64(bitPattern: known.revision.rawValue))]))
    guard rows.count == 1 else { throw StorageError.storeIsGone(location) }
    let (oldest, head) = (StoreRevision(head: rows.int8(0, 1)), StoreRevision(head: rows.int8(0, 2)))
    // A head behind it is noticed by whoever reads it. The check stays due: others may commit before.
    guard head >= known.revision else { return false }
    // What the journal has dropped says nothing.
    let isDropped = rows.isNull(0, 0) && oldest > known.revision
    guard !isDropped, rows.uuid(0, 0) != known.transaction else {
      history.pass(known.change)
      return false
    }
    let newEpoch = UInt64(bitPattern: rows.int8(0, 3))
    if isReadOnly {
      begin(epoch: newEpoch, at: head)  // The next handle that writes lets the revisions continue.
    } else if newEpoch != epoch, head > latestRevision {
      begin(epoch: newEpoch, at: head)  // Another process has noticed it before.
    } else {
      try await StoreCommitter(store: self).continueRevisions(beyond: max(head, latestRevision).next)
    }
    return true
  }
}
