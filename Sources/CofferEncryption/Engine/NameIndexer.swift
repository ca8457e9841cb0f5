import CofferCore
import Foundation

/// Keeps the newest ``NameIndex`` of a store, and derives those of snapshots from it.
///
/// An index is brought to the revision of a snapshot by reading, in that snapshot, the keys that commits in between
/// have changed. So it never describes another revision than that of the snapshot for which it is used.
final class NameIndexer: Sendable {
  /// The number of attempts to bring the newest index to a revision while other callers change it.
  private static let attempts = 8
  private typealias Change = NameIndex.Change

  private let base: any StorageEngine
  private let newest = Locked<NameIndex?>(nil)

  init(_ base: any StorageEngine) { self.base = base }

  /// Returns the index of a snapshot.
  /// - Parameters:
  ///   - date: the date of the snapshot, by the clock of the engine.
  ///   - entry: returns the entry of a stored summary.
  ///   - knownName: returns the name of a stored key, if it is known without reading anything.
  /// - Throws: ``StorageError`` if the values cannot be listed by their names.
  func index(
    of snapshot: any StorageSnapshot, at date: Date,
    entry: (StoreEntry.Summary) async throws -> NameIndex.Entry, knownName: (KeyName) -> KeyName?
  ) async throws -> NameIndex {
    let (revision, epoch) = (snapshot.revision, base.latestPosition.epoch)
    for _ in 0..<Self.attempts {
      // A clock that was set back shows values that had expired when the index was made.
      let known = newest.withLock { $0 }.flatMap {
        $0.epoch == epoch && $0.date <= date ? $0 : nil
      }
      guard let known, known.revision != revision else {
        if let known { return known }
        break
      }
      let (from, count) = (known.revision, known.entries.count)
      guard let changed = await changedKeys(between: from, and: revision, epoch, count) else { break }
      var changes: [Change] = []
      for key in changed {
        guard let summary = try await snapshot.summary(of: key) else {
          changes.append(Change(key: key, name: knownName(key), entry: nil))
          continue
        }
        let entry = try await entry(summary)
        changes.append(Change(key: key, name: entry.name, entry: entry))
      }
      if revision < from { return known.applying(changes, at: revision, date) }
      if let index = advance(consume known, changes, to: revision, date) { return index }
    }
    let entries = try await allEntries(of: snapshot, entry)
    let index = NameIndex(revision: revision, epoch: epoch, date: date, entries: entries)
    newest.withLock { newest in
      // Another caller may have derived a newer one meanwhile.
      if let present = newest, present.epoch == epoch, present.revision > revision { return }
      newest = index
    }
    return index
  }

  /// Brings the newest index to a later revision; `nil` if it is no longer `known`.
  private func advance(
    _ known: consuming NameIndex, _ changes: [Change], to revision: StoreRevision, _ date: Date
  ) -> NameIndex? {
    let (from, epoch) = (known.revision, known.epoch)
    _ = consume known
    return newest.withLock { newest in
      guard let present = newest, present.revision == from, present.epoch == epoch, present.date <= date else {
        return nil
      }
      // Without another reference to its entries, unless a snapshot uses them, they are changed in place.
      newest = nil
      let index = (consume present).applying(changes, at: revision, date)
      newest = index
      return index
    }
  }

  private func allEntries(
    of snapshot: any StorageSnapshot, _ entry: (StoreEntry.Summary) async throws -> NameIndex.Entry
  ) async throws -> [NameIndex.Entry] {
    var entries: [NameIndex.Entry] = []
    var last: KeyName?
    while true {
      let page = try await snapshot.summaries(prefix: nil, after: last, limit: 1_000)
      guard let end = page.last else { break }
      for summary in page { entries.append(try await entry(summary)) }
      last = end.key
    }
    entries.sort { $0.name < $1.name }
    return entries
  }

  /// Returns the stored keys that commits between two revisions have changed, whichever is newer; `nil` if they are not
  /// known, or so many that all values should be read.
  private func changedKeys(
    between first: StoreRevision, and second: StoreRevision, _ epoch: UInt64, _ count: Int
  ) async -> Set<KeyName>? {
    let (older, newer) = (min(first, second), max(first, second))
    let limit = max(1_000, count / 4)
    guard newer.rawValue - older.rawValue <= UInt64(limit) else { return nil }
    if let recent = base.recentCommits(after: older), let last = recent.last, last.revision >= newer {
      return Self.keys(changedBy: recent.prefix { $0.revision <= newer }, limit)
    }
    var commits: [StoreCommit] = []
    for await change in base.changes(since: JournalPosition(epoch: epoch, revision: older)) {
      guard case .commit(let commit) = change, commit.revision <= newer else { return nil }
      commits.append(commit)
      if commit.revision == newer { return Self.keys(changedBy: commits, limit) }
    }
    return nil
  }

  private static func keys(changedBy commits: some Sequence<StoreCommit>, _ limit: Int) -> Set<KeyName>? {
    var keys: Set<KeyName> = []
    for commit in commits {
      guard !commit.changed.isEverything, commit.changed.prefixes.isEmpty else { return nil }
      keys.formUnion(commit.changed.keys)
      if keys.count > limit { return nil }
    }
    return keys
  }
}
