import CofferCSQLite
import CofferCore
import Foundation

/// Reads commits back from the journal.
struct JournalReader {
  private let statement: Statement
  private let place: StorePlace

  init(_ connection: Connection) throws {
    place = connection.place
    statement = try connection.prepare(
      """
      SELECT revision, transaction_id, origin, changed FROM coffer_journal
      WHERE revision > ?1 ORDER BY revision LIMIT ?2
      """)
  }

  /// Up to `limit` commits after `revision`.
  func page(after revision: Revision, limit: Int) throws -> JournalPage {
    statement.bind(1, Int64(bitPattern: revision.rawValue))
    statement.bind(2, Int64(limit))
    defer { statement.reset() }
    var commits: [Commit] = []
    var expected = revision.next
    while try statement.step() {
      let found = Revision(UInt64(bitPattern: statement.integer(0)))
      guard found == expected, let commit = commit(at: found) else {
        // A hole is what the retention has taken; an unreadable row is damage. Either way its content is unknown.
        return JournalPage(commits: commits, isContiguous: !commits.isEmpty)
      }
      commits.append(commit)
      expected = found.next
    }
    return JournalPage(commits: commits, isContiguous: true)
  }

  private func commit(at revision: Revision) -> Commit? {
    guard let changed = Selection(decoding: statement.bytes(3)) else { return nil }
    // Both are empty for a change that a writer made who does not know us.
    if statement.bytes(1).isEmpty, statement.bytes(2).isEmpty {
      return Commit(revision: revision, transaction: nil, origin: nil, changed: changed)
    }
    guard let transaction = UUID(statement.bytes(1)), let origin = UUID(statement.bytes(2)) else { return nil }
    return Commit(revision: revision, transaction: transaction, origin: Origin(handle: origin), changed: changed)
  }
}

extension UUID {
  fileprivate init?(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count == MemoryLayout<uuid_t>.size else { return nil }
    self.init(uuid: bytes.loadUnaligned(as: uuid_t.self))
  }
}
