import CofferCore
import Foundation

/// Reads commits back from the journal.
struct JournalReader: Sendable {
  let database: PostgreSQLDatabase
  let store: Int64
  let history: HistoryCheck

  /// Returns up to `limit` commits after `revision`. While the server cannot be reached, this waits for it.
  func page(after revision: StoreRevision, limit: Int) async throws -> JournalPage {
    let call = ServerCall(
      ReadStatements.journal, [.int8(store), .int8(Int64(bitPattern: revision.rawValue)), .int8(Int64(limit))])
    while true {
      do {
        let page = page(try await database.read(call), after: revision)
        // What was delivered before may belong to another history than these rows.
        if try await history.check() { return JournalPage(commits: [], isContiguous: false) }
        if let last = page.commits.last, let transaction = last.transaction { history.note(last.revision, transaction) }
        return page
      } catch let error as StorageError where error.code == .unavailable {
        // Without the commits, the subscriber would be told to read everything again, which does not work either.
        try await Task.sleep(for: .milliseconds(200))
      }
    }
  }

  private func page(_ rows: ServerRows, after revision: StoreRevision) -> JournalPage {
    var commits: [StoreCommit] = []
    var expected = revision.next
    for row in 0..<rows.count {
      guard let commit = commit(rows, row), commit.revision == expected else {
        // A gap was left by retention or by a lost history; an unreadable row is damage. Its content is unknown.
        return JournalPage(commits: commits, isContiguous: !commits.isEmpty)
      }
      commits.append(commit)
      expected = commit.revision.next
    }
    return JournalPage(commits: commits, isContiguous: true)
  }

  /// Returns the commit of a row; `nil` if the row is damaged.
  private func commit(_ rows: ServerRows, _ row: Int) -> StoreCommit? {
    let (revision, epoch, committedAt) = (rows.int8(row, 0), rows.int8(row, 1), rows.int8(row, 4))
    let (transaction, origin, changed) = (rows.data(row, 2), rows.data(row, 3), rows.data(row, 5))
    let content = RowChecksum.journal(
      store: store, transaction: transaction, origin: origin, committedAt: committedAt, changed: changed)
    guard RowChecksum.bound(RowChecksum.bound(content, to: revision), to: epoch) == rows.int8(row, 6),
      let transaction = UUID(data: transaction), let origin = UUID(data: origin),
      let selection = changed.withUnsafeBytes({ StoreSelection(decoding: $0) })
    else { return nil }
    return StoreCommit(
      revision: StoreRevision(row: revision), transaction: transaction, origin: StoreOrigin(handle: origin),
      changed: selection, date: Date(unixMilliseconds: committedAt))
  }
}
