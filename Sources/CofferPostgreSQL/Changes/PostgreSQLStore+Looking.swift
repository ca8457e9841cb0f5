import CofferCore
import Foundation

/// What a look at a store has found.
private struct Look {
  let head: StoreRevision
  let epoch: UInt64
  /// Whether the journal has another commit in the place of one that this process knows.
  let isReplaced: Bool
  /// The newest commit of the journal.
  let newest: HistoryCheck.Known?
}

extension PostgreSQLStore {
  /// Reads the head, and compares the commits that this process knows, `$2` and `$3`, with the journal. What the
  /// journal has dropped, and what is beyond the head, says nothing.
  ///
  /// The tables that the statement does not read are named, so that it fails if one of them is gone.
  private static let look = ServerStatement(
    """
    SELECT s.head, s.epoch, EXISTS (
        SELECT FROM unnest($2, $3) AS k (revision, transaction)
        WHERE k.revision <= s.head
          AND k.revision >= coalesce((SELECT min(revision) FROM coffer.journal WHERE store = $1), 0)
          AND NOT EXISTS (SELECT FROM coffer.journal c
            WHERE c.store = $1 AND c.revision = k.revision AND c.transaction = k.transaction)),
      j.revision, j.transaction,
      has_table_privilege('coffer.values', 'SELECT') AND has_table_privilege('coffer.members', 'SELECT')
        AND has_table_privilege('coffer.format', 'SELECT') AND has_table_privilege('coffer.quarantine', 'SELECT'),
      has_table_privilege('coffer.writers', 'SELECT')
    FROM coffer.stores s LEFT JOIN LATERAL (
      SELECT revision, transaction FROM coffer.journal WHERE store = s.store ORDER BY revision DESC LIMIT 1) j ON true
    WHERE s.store = $1
    """, [.int8, .int8Array, .bytesArray])

  /// - Throws: an error if the store is gone or cannot be read any more.
  private func look() async throws -> Look {
    let known = history.known
    let rows = try await database.read(
      ServerCall(
        Self.look,
        [
          .int8(id), .int8Array(known.map { Int64(bitPattern: $0.revision.rawValue) }),
          .bytesArray(known.map(\.transaction.data)),
        ]))
    guard rows.count == 1 else { throw StorageError.storeIsGone(location) }
    guard rows.bool(0, 5) else { throw StorageError.mayNotRead(location) }
    let newest = UUID(data: rows.data(0, 4)).map {
      HistoryCheck.Known(revision: StoreRevision(head: rows.int8(0, 3)), transaction: $0)
    }
    return Look(
      head: StoreRevision(head: rows.int8(0, 0)), epoch: UInt64(bitPattern: rows.int8(0, 1)),
      isReplaced: rows.bool(0, 2), newest: newest)
  }

  // MARK: Watching

  /// Looks at the store, and tells subscribers if other processes have committed, if another history has replaced the
  /// one that they know, or if the store is gone.
  /// - Returns: Whether there is news.
  func lookAtHead() async throws -> Bool {
    let known = latestPosition
    let found: Look
    do { found = try await look() } catch {
      // Whether the server answers is noted by the database.
      if let error = error as? StorageError, !error.isAboutConnection { condition.lose(error.message) }
      throw error
    }
    if condition.isLost {
      // What happened meanwhile is not known, even if the history is the same.
      let isReplaced = found.isReplaced ? try await replaceHistory() : false
      if !isReplaced { begin(found) }
      condition.find()
      return true
    }
    if found.isReplaced {
      _ = try await history.once { [self] in try await replaceHistory() }
      return true
    }
    guard try await agree(head: found.head, epoch: found.epoch, knownBefore: known) else { return true }
    let isNew = history.see(found.newest)
    if found.head < known.revision, isReadOnly {
      // The next handle that writes lets the revisions continue; until then, none is above those that were announced.
      guard isNew else { return false }
      begin(found)
      return true
    }
    feed.advance(to: found.head)
    return found.head > known.revision
  }

  // MARK: Histories

  /// Lets another history begin as it was found.
  private func begin(_ found: Look) {
    begin(epoch: found.epoch, at: found.head)
    history.see(found.newest)
  }

  /// Looks whether the newest commits that this process knows are in the journal, if another server instance is used
  /// since the last look. If they are not, the revisions continue beyond all that were announced, under a new epoch.
  /// - Returns: whether the history is another one.
  func checkHistory() async throws -> Bool {
    guard history.due != nil else { return false }
    return try await history.once { [self] in
      guard let change = history.due else { return false }
      return try await replaceHistory(after: change)
    }
  }

  /// Lets another history begin if the journal has other commits than this process knows.
  /// - Parameter change: the change of the server instance for which this is done; `nil` for none.
  /// - Returns: whether the history is another one.
  private func replaceHistory(after change: Int? = nil) async throws -> Bool {
    let known = history.known
    let found = try await look()
    guard found.isReplaced else {
      // A head behind it is noticed by whoever reads it. A check that is due stays: others may commit before.
      if let change, known.allSatisfy({ $0.revision <= found.head }) { history.pass(change) }
      return false
    }
    if isReadOnly {
      begin(found)  // The next handle that writes lets the revisions continue.
    } else if found.epoch != epoch, found.head > latestRevision {
      begin(found)  // Another process has noticed it before.
    } else {
      try await StoreCommitter(store: self).continueRevisions(
        beyond: max(found.head, latestRevision).next, ending: found.epoch)
    }
    return true
  }
}
