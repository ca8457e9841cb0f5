package import CofferCore
package import Foundation

/// The table of the values that expire: one row per key, written by each put with an expiry.
///
/// It only serves to find expired values; the attributes of a value decide. A row whose value was replaced or removed
/// meanwhile is dropped when its date has passed, so other puts and deletions need not maintain the table.
enum ExpiryTable {
  static let name = "coffer_expiries"
  static let create = """
    CREATE TABLE IF NOT EXISTS \(name) (key BLOB PRIMARY KEY NOT NULL, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS coffer_expiries_at ON \(name) (at)
    """
  static let put = """
    INSERT INTO \(name) (key, at) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET at = excluded.at
    """
  static let due = "SELECT key, at FROM \(name) WHERE at <= ?1 ORDER BY at LIMIT ?2"
  static let forget = "DELETE FROM \(name) WHERE key = ?1 AND at = ?2"
}

extension Connection {
  /// Whether a value that expires was ever stored.
  func hasExpiries() throws -> Bool {
    try number("SELECT 1 FROM sqlite_schema WHERE name = '\(ExpiryTable.name)'") != nil
  }
}

/// The expired values that a sweep is to remove.
package struct ExpiredValues: Sendable {
  /// The keys with the revisions of their values.
  package fileprivate(set) var values: [(key: KeyName, revision: StoreRevision)] = []
  /// Whether there may be more.
  package fileprivate(set) var isFull = false
  fileprivate var rows: [(key: Data, at: Int64)] = []
}

extension Reader {
  /// Whether a value that expires was ever stored.
  package func hasExpiries() throws -> Bool { try connection.hasExpiries() }

  /// Whether a table has rows.
  package func hasRows(in table: StaticString) throws -> Bool {
    try connection.number("SELECT 1 FROM \(table) LIMIT 1") != nil
  }
}

extension GroupCommitter {
  /// Finds values that had expired at a date. A damaged row is not among them.
  package func expiredValues(at date: Date, limit: Int = SweepSchedule.limit) throws -> ExpiredValues {
    var expired = ExpiredValues()
    guard try connection.hasExpiries() else { return expired }
    let arguments: [SQLiteValue] = [.integer(date.unixMilliseconds), .integer(Int64(limit))]
    expired.rows = try statements.query(ExpiryTable.due, arguments) { ($0.blob(0), $0.integer(1)) }
    expired.isFull = expired.rows.count >= limit
    for row in expired.rows {
      guard let name = String(validating: row.key, as: UTF8.self), let key = try? KeyName(name) else { continue }
      let sql = "SELECT \(ValueRow.columns) FROM coffer_values WHERE key = ?1"
      let revision = try statements.query(sql, [.blob(row.key)]) { found in
        found.value.isExpired(key, at: date) ? found.value.revision : nil
      }
      if let revision = revision.first ?? nil { expired.values.append((key, revision)) }
    }
    return expired
  }

  /// Removes the rows by which a sweep has found its values.
  package func forget(_ expired: ExpiredValues) throws {
    guard !expired.rows.isEmpty else { return }
    try housekeep {
      for row in expired.rows { try statements.execute(ExpiryTable.forget, [.blob(row.key), .integer(row.at)]) }
    }
  }
}

extension ValueRow {
  /// Whether the row is intact and its value has expired.
  func isExpired(_ key: KeyName, at date: Date) -> Bool {
    guard !attributes.isEmpty, let attributes = ValueAttributes(encoded: attributes),
      attributes.isExpired(at: date)
    else { return false }
    return isWhole(key)
  }
}

extension SQLiteStore {
  /// Schedules the removal of expired values if it is due after a commit.
  func sweep(at date: Date, after batch: WriteBatch) {
    guard let sweeping, let date = sweeping.takeDue(at: date, after: batch) else { return }
    writer.sweep(upTo: date) { sweeping.noteMore() }
  }
}

extension Writer {
  /// Removes values that had expired at a date, in a commit of its own. An error is ignored, since a later sweep makes
  /// up for it.
  fileprivate func sweep(upTo date: Date, noteMore: @escaping @Sendable () -> Void) {
    workInBackground { [self] committer in
      let start = configuration.events.map { _ in ContinuousClock.now }
      let expired = try committer.expiredValues(at: date)
      if expired.isFull { noteMore() }
      var commit: StoreCommit?
      if !expired.values.isEmpty {
        let removals = WriteBatch(sweeping: expired.values)
        let batch = PreparedBatch(removals, origin: StoreOrigin(), at: committer.clock.now(), isSweep: true)
        // Not relaxed: after a power loss, the store would report a lost commit that nobody has made.
        let revision = try committer.commit(batch, durability: .full).get()
        raise(revision)
        commit = batch.commit(at: revision, groupSize: 1)
        if let start, let commit {
          let facts = StoreEvent.Commit(commit, removals, .full, since: start, isSweep: true)
          configuration.events?.emitLater(file.description, .committed(facts))
        }
      }
      try? committer.forget(expired)  // the next sweep finds and drops what is left
      return WorkOutcome(commit: commit)
    }
  }
}
