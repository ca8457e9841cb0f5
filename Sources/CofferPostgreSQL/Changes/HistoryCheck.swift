import CofferCore
import Foundation

/// What a process knows of the history of a store, by which it recognizes another one.
///
/// After a failover that has lost commits, or the restoration of a backup, another process may have committed as many
/// again before this one looks: the head alone does not show it.
final class HistoryCheck: Sendable {
  /// A commit that this process knows.
  struct Known: Hashable, Sendable {
    let revision: StoreRevision
    let transaction: TransactionID
  }

  private struct State {
    /// The newest commit whose transaction this process knows.
    var newest: Known?
    /// The newest commit that a look at the head has found. What is noted between two looks may already belong to
    /// another history.
    var seen: Known?
    /// The number of changes of the server instance, and that of those after which was looked.
    var changes = 0
    var checked = 0
    /// The check that is under way.
    var running: Task<Bool, any Error>?
    /// Runs a check, if one is due.
    var check: (@Sendable () async throws -> Bool)?
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
      if state.newest.map({ $0.revision < revision }) ?? true {
        state.newest = Known(revision: revision, transaction: transaction)
      }
    }
  }

  /// The change of the instance after which a check is due; `nil` if none is, or nothing is known to look for.
  var due: Int? {
    state.withLock { $0.changes != $0.checked && $0.newest != nil ? $0.changes : nil }
  }

  /// The commits that the journal of the same history contains, unless it has dropped them.
  var known: [Known] { state.withLock { [$0.seen, $0.newest].compactMap { $0 } } }

  /// Notes the newest commit that a look has found.
  /// - Returns: Whether it is another one than that of the last look.
  @discardableResult
  func see(_ commit: Known?) -> Bool {
    state.withLock { state in
      defer { state.seen = commit }
      return state.seen != commit
    }
  }

  /// Notes that the history is the known one, after a change of the instance.
  func pass(_ change: Int) { state.withLock { $0.checked = max($0.checked, change) } }

  /// Notes that another history has begun, of which no commit is known yet.
  func begin() { state.withLock { ($0.newest, $0.seen) = (nil, nil) } }

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
