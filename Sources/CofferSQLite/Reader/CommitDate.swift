package import CofferCore
package import Foundation

extension SQLiteEngine {
  /// When a revision was committed, by the clock of who did it; `nil` when the journal has forgotten it.
  package func commitDate(of revision: Revision) async throws -> Date? {
    try read { try $0.commitDate(of: revision) }
  }
}

extension SlotEngine {
  /// When a value was changed last, as far as the journal knows; of an edit by others, when it was noticed.
  package func changeDate(of key: Key) async throws -> Date? {
    guard let journal, let revision = try await journal.entry(key)?.revision else { return nil }
    return try await journal.commitDate(of: revision)
  }
}

extension Reader {
  fileprivate func commitDate(of revision: Revision) throws -> Date? {
    try statements.query(
      "SELECT committed_at FROM coffer_journal WHERE revision = ?1", [.integer(Int64(bitPattern: revision.rawValue))]
    ) { $0.integer(0) }.first.map { Date(timeIntervalSince1970: Double($0) / 1_000) }
  }
}
