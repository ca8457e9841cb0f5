import CofferCore
import CofferLocks
import CofferSQLite

/// The records of values that were read lately: a read of one then takes nothing from the journal but a look at its
/// newest revision, which is a load from memory.
final class RecordCache: Sendable {
  private static let capacity = 16_384

  private struct State {
    /// The state of the store that the records belong to.
    var revision = StoreRevision.zero
    var records: [StoreKey: SlotHome.Recorded] = [:]
  }

  private let state = Locked(State())

  /// The record of a key as of `latest`, if it is known.
  func record(of key: StoreKey, in journal: SQLiteEngine, latest: StoreRevision) -> SlotHome.Recorded? {
    let (revision, found) = state.withLock { ($0.revision, $0.revision == latest ? $0.records[key] : nil) }
    guard revision != latest else { return found }
    forget(what: journal.recentCommits(after: revision), from: revision, to: latest)
    return state.withLock { $0.revision == latest ? $0.records[key] : nil }
  }

  /// Removes what was changed after a revision, or everything where it is unknown what was changed.
  private func forget(what commits: [StoreCommit]?, from revision: StoreRevision, to latest: StoreRevision) {
    state.withLock { state in
      guard state.revision == revision, revision < latest else { return }
      state.revision = latest
      guard let commits, commits.allSatisfy({ !$0.changed.isEverything && $0.changed.prefixes.isEmpty }) else {
        return state.records.removeAll()
      }
      // Those after `latest` are forgotten too early, which does no harm.
      for commit in commits {
        for key in commit.changed.keys { state.records[key] = nil }
      }
    }
  }

  /// Keeps a record that was read when `latest` was the newest revision. A commit that came in between is newer than
  /// that and makes the next reader forget the record.
  func keep(_ recorded: SlotHome.Recorded, of key: StoreKey, latest: StoreRevision) {
    state.withLock { state in
      guard state.revision == latest else { return }
      if state.records.count >= Self.capacity { state.records.removeAll(keepingCapacity: true) }
      state.records[key] = recorded
    }
  }
}
