import CofferCore

/// Decides which records of a log are newer than what the store has.
struct WriteLogReplay {
  /// The number of the first record that no commit has.
  private var first: UInt64 = 0
  /// The commits that were made from the log.
  private var own: Set<StoreRevision> = []
  /// The last commits of others that have changed single keys.
  private var changed: [KeyName: StoreRevision] = [:]
  /// The commits of others that have changed more than single keys.
  private var swept: [StoreCommit] = []
  /// Whether all commits since the first record are known.
  private let isComplete: Bool

  /// - Parameter commits: those since the first record, as far as the journal has them.
  init(_ log: UInt64, _ commits: [StoreCommit], isComplete: Bool) {
    self.isComplete = isComplete
    for commit in commits {
      if let number = commit.transaction.flatMap({ WriteLogRecord.number($0, ofLog: log) }) {
        first = max(first, number)
        own.insert(commit.revision)
      } else {
        for key in commit.changed.keys { changed[key] = commit.revision }
        if commit.changed.isEverything || !commit.changed.prefixes.isEmpty { swept.append(commit) }
      }
    }
  }

  /// Returns the newest operation for each key, unless a commit has it or others have written the key since.
  /// - Parameters:
  ///   - newest: the newest revision. A record after it was written to a copy of the store that this one has replaced.
  ///   - stored: returns the revision of the stored value of a key, on which the operation depends.
  func operations(
    _ records: [WriteLogRecord], upTo newest: StoreRevision, stored: (KeyName) throws -> StoreRevision?
  ) throws -> [WriteBatch.Operation] {
    var found: [KeyName: WriteBatch.Operation] = [:]
    var order: [(key: KeyName, stored: StoreRevision?)] = []
    for record in records where record.number >= first && record.revision <= newest {
      for (key, operation) in record.operations where !isReplaced(key, since: record.revision) {
        if found[key] == nil {
          let stored = try stored(key)
          // A commit that the journal has lost may be of others.
          if let stored, !isComplete, stored > record.revision, !own.contains(stored) { continue }
          order.append((key, stored))
        }
        found[key] = operation
      }
    }
    return order.flatMap { key, stored in [.require(key, stored)] + (found[key].map { [$0] } ?? []) }
  }

  private func isReplaced(_ key: KeyName, since revision: StoreRevision) -> Bool {
    if let changed = changed[key], changed > revision { return true }
    return swept.contains { $0.revision > revision && $0.changed.contains(key) }
  }
}
