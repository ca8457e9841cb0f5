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
