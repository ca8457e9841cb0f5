/// The statements of every commit, compiled with the first one: many openings are followed by reads only.
final class CommitStatements {
  let begin, commit, appendJournal, newestRow: Statement

  init(_ connection: Connection) throws {
    begin = try connection.prepare("BEGIN IMMEDIATE")
    commit = try connection.prepare("COMMIT")
    appendJournal = try connection.prepare(JournalRow.insert)
    newestRow = try connection.prepare(JournalRow.newest)
  }
}

/// The statements of most operations, compiled with the first one: many openings are followed by reads only.
final class RowStatements {
  let put, delete, clearAll, findRevision: Statement

  init(_ connection: Connection) throws {
    put = try connection.prepare(
      """
      INSERT INTO coffer_values (key, revision, checksum, attributes, large, value) VALUES (?1, ?2, ?3, ?5, ?6, ?4)
      ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, checksum = excluded.checksum,
      attributes = excluded.attributes, large = excluded.large, value = excluded.value
      WHERE \(LiveRowCounter.removing)
      """)
    delete = try connection.prepare("DELETE FROM coffer_values WHERE key = ?1 AND \(LiveRowCounter.removing)")
    clearAll = try connection.prepare("DELETE FROM coffer_values")
    findRevision = try connection.prepare("SELECT revision, attributes FROM coffer_values WHERE key = ?1")
  }
}
