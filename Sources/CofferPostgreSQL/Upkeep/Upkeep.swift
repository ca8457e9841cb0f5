import CofferCore
import Foundation

/// The schedule of the upkeep that commits cause.
struct Upkeep: Sendable {
  private var trimmedAt = StoreRevision.zero

  /// Whether the journal is to be trimmed, which is once per several commits.
  mutating func takeDue(at revision: StoreRevision, retention: Int) -> Bool {
    let step = UInt64(max(1, min(1_024, retention / 4)))
    guard revision.rawValue >= trimmedAt.rawValue &+ step else { return false }
    trimmedAt = revision
    return revision.rawValue > UInt64(max(1, retention))
  }
}

extension PostgreSQLStore {
  /// Rows are deleted in steps, so that no transaction is long.
  private static let step = 1_000

  private static let trim = ServerStatement(
    """
    DELETE FROM coffer.journal WHERE store = $1 AND revision IN (
      SELECT revision FROM coffer.journal WHERE store = $1 AND revision <= $2 ORDER BY revision LIMIT $3)
    """, [.int8, .int8, .int8])

  /// Rows of connections that were lost, or whose process was killed.
  private static let forgetWriters = ServerStatement(
    "DELETE FROM coffer.writers WHERE seen_at < now() - interval '7 days'")

  /// Deletes the commits that the journal need not hold any more. An error is ignored, since a later call makes up for
  /// it.
  func trimJournal() async {
    let kept = UInt64(max(1, database.configuration.journalRetention))
    guard latestRevision.rawValue > kept else { return }
    let oldest = Int64(latestRevision.rawValue - kept)
    let call = ServerCall(Self.trim, [.int8(id), .int8(oldest), .int8(Int64(Self.step))])
    var isDone = false
    while !isDone {
      let rows = try? await database.withWriter { try await $0.server.transact([call], within: deadline) }
      isDone = (rows?.rows.first?.affected ?? 0) < Self.step
    }
    _ = try? await database.withWriter { writer in
      try await writer.server.transact([ServerCall(Self.forgetWriters)], within: deadline)
    }
  }
}
