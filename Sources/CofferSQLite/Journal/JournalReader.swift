import CofferCSQLite
import CofferCore
import Foundation

/// Reads commits back from the journal.
struct JournalReader {
  private let statement: Statement
  private let file: StoreFile

  init(_ connection: Connection) throws {
    file = connection.file
    statement = try connection.prepare(
      """
      SELECT \(JournalRow.columns) FROM coffer_journal WHERE revision > ?1 ORDER BY revision LIMIT ?2
      """)
  }

  /// Returns up to `limit` commits after `revision`.
  func page(after revision: StoreRevision, limit: Int) throws -> JournalPage {
    statement.bind(1, Int64(bitPattern: revision.rawValue))
    statement.bind(2, Int64(limit))
    defer { statement.reset() }
    var commits: [StoreCommit] = []
    var expected = revision.next
    while try statement.step() {
      let (row, isWhole) = JournalRow.read(statement)
      guard row.revision == expected, isWhole, let commit = commit(row) else {
        // A gap was left by retention; an unreadable row is damage. Either way its content is unknown.
        return JournalPage(commits: commits, isContiguous: !commits.isEmpty)
      }
      commits.append(commit)
      expected = row.revision.next
    }
    return JournalPage(commits: commits, isContiguous: true)
  }

  /// Returns the commits after `revision` that can be read, and whether these are all.
  func rest(after revision: StoreRevision) throws -> (commits: [StoreCommit], isComplete: Bool) {
    statement.bind(1, Int64(bitPattern: revision.rawValue))
    statement.bind(2, Int64(-1))
    defer { statement.reset() }
    var commits: [StoreCommit] = []
    var (expected, isComplete) = (revision.next, true)
    while try statement.step() {
      let (row, isWhole) = JournalRow.read(statement)
      if row.revision != expected { isComplete = false }
      expected = row.revision.next
      if isWhole, let commit = commit(row) { commits.append(commit) } else { isComplete = false }
    }
    return (commits, isComplete)
  }

  /// Returns the epoch of the commit with this revision, or `nil` if the journal does not contain it.
  func epoch(of revision: StoreRevision) throws -> UInt64? {
    guard revision > .zero else { return nil }
    statement.bind(1, Int64(bitPattern: revision.rawValue) - 1)
    statement.bind(2, Int64(1))
    defer { statement.reset() }
    guard try statement.step() else { return nil }
    let (row, isWhole) = JournalRow.read(statement)
    return row.revision == revision && isWhole ? row.epoch : nil
  }

  private func commit(_ row: JournalRow) -> StoreCommit? {
    guard let changed = StoreSelection(decoding: row.changed) else { return nil }
    let date = Date(unixMilliseconds: row.committedAt)
    // Both are empty for a change by an unaware writer.
    if row.transaction.isEmpty, row.origin.isEmpty {
      return StoreCommit(revision: row.revision, transaction: nil, origin: nil, changed: changed, date: date)
    }
    guard let transaction = UUID(row.transaction), let origin = UUID(row.origin) else { return nil }
    return StoreCommit(
      revision: row.revision, transaction: transaction, origin: StoreOrigin(handle: origin), changed: changed,
      date: date)
  }
}

extension UUID {
  fileprivate init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == MemoryLayout<uuid_t>.size else { return nil }
    self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }
}
