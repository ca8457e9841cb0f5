import CofferCore
import CofferSQLite

/// A cache of the records of recently read values. A hit needs only the newest revision of the journal, which is a load
/// from memory.
final class RecordCache: Sendable {
  private static let capacity = 16_384

  private struct State {
    /// The revision of the journal that the records belong to.
    var revision = StoreRevision.zero
    var records: [KeyName: SlotHandle.Recorded] = [:]
  }

  private let state = Locked(State())

  /// Returns the record of a key as of `latest`, or `nil` if it is not cached.
  func record(of key: KeyName, in journal: SQLiteEngine, latest: StoreRevision) -> SlotHandle.Recorded? {
    let (revision, found) = state.withLock { ($0.revision, $0.revision == latest ? $0.records[key] : nil) }
    guard revision != latest else { return found }
    forget(what: journal.recentCommits(after: revision), from: revision, to: latest)
    return state.withLock { $0.revision == latest ? $0.records[key] : nil }
  }

  /// Invalidates the records changed after a revision, or all of them if the changes are unknown.
  private func forget(what commits: [StoreCommit]?, from revision: StoreRevision, to latest: StoreRevision) {
    state.withLock { state in
      guard state.revision == revision, revision < latest else { return }
      state.revision = latest
      guard let commits, commits.allSatisfy({ !$0.changed.isEverything && $0.changed.prefixes.isEmpty }) else {
        return state.records.removeAll()
      }
      // Commits after `latest` invalidate records too early, which is harmless.
      for commit in commits {
        for key in commit.changed.keys { state.records[key] = nil }
      }
    }
  }

  /// Caches a record that was read when `latest` was the newest revision. A commit made in between is newer and
  /// invalidates the record at the next read.
  func keep(_ recorded: SlotHandle.Recorded, of key: KeyName, latest: StoreRevision) {
    state.withLock { state in
      guard state.revision == latest else { return }
      if state.records.count >= Self.capacity { state.records.removeAll(keepingCapacity: true) }
      state.records[key] = recorded
    }
  }
}
