import CofferCore
import Foundation

/// Finds out whether a transaction was applied whose `COMMIT` was not answered.
///
/// The row of the connection in `writers` says it: the transaction has set its attempt, if it was applied. Fencing the
/// row, in a transaction that waits for the standbys, makes the answer final: a `COMMIT` that is still on its way finds
/// the row fenced and fails, and the answer is as durable as what it reports. A plain read would show what no standby
/// has, and a transaction identifier is given again after a failover.
enum AttemptResolution {
  /// What became of an attempt.
  enum Fate: Sendable {
    /// It was applied, and the head of the store was `head` after it.
    case applied(head: Int64)
    /// It was not applied, and never will be.
    case notApplied
  }

  /// It writes a row even if there is none: a server waits for its standbys only with transactions that write, and one
  /// that was cut off would otherwise say at once that a commit of its successor does not exist.
  private static let fence = ServerStatement(
    """
    INSERT INTO coffer.writers AS w (writer, attempt, revision, is_fenced) VALUES ($1, -1, 0, true)
    ON CONFLICT (writer) DO UPDATE SET is_fenced = true, seen_at = now() RETURNING w.attempt, w.revision
    """, [.uuid])

  /// Fences a writer on a connection of another one, and returns the fate of its attempt.
  ///
  /// The transaction of the attempt may still be under way, for example because it waits for standbys; the row is
  /// locked until it ends. Repeating this is safe.
  static func fence(
    _ writer: UUID, attempt: Int64, on connection: ServerConnection, within: Duration
  ) async throws(ExchangeFailure) -> Fate {
    let answer = try await connection.transact([ServerCall(fence, [.uuid(writer)])], within: within)
    guard let rows = answer.rows.first, rows.count == 1 else {
      throw .lost(ConnectionLoss("The server has not fenced the writer.", mayHaveRun: true))
    }
    return rows.int8(0, 0) == attempt ? .applied(head: rows.int8(0, 1)) : .notApplied
  }
}
