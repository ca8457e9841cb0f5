import CofferCore
import Foundation

extension PostgreSQLStore {
  private static let due = ServerStatement(
    """
    SELECT v.key, \(ReadStatements.columns), v.value, v.expires FROM (
      SELECT d.*, sum(octet_length(d.value)) OVER (ORDER BY d.expires, d.key ROWS UNBOUNDED PRECEDING)
        - octet_length(d.value) AS before
      FROM (
        SELECT * FROM coffer.values
        WHERE store = $1 AND NOT record AND expires <= $2 AND (expires, key) > ($4, $5)
        ORDER BY expires, key LIMIT $3) d
      ) v
    WHERE v.before < \(ReadStatements.pageSize) ORDER BY v.expires, v.key
    """, [.int8, .int8, .int8, .int8, .bytes])

  /// Removes expired values in the background if that is due after a commit.
  func sweep(at date: Date, after batch: WriteBatch) {
    guard let due = sweeping.takeDue(at: date, after: batch) else { return }
    Task { [weak self] in try? await self?.sweep(upTo: due) }  // A later sweep makes up for an error.
  }

  /// Removes values that had expired at a date, in a commit like any other.
  private func sweep(upTo date: Date) async throws {
    let start = ContinuousClock.now
    let limit = SweepSchedule.limit
    var expired: [(key: KeyName, revision: StoreRevision)] = []
    var last: (expires: Int64, key: Data) = (.min, Data())
    // A page of damaged values only must not keep the others.
    repeat {
      let rows = try await database.read(
        ServerCall(
          Self.due,
          [
            .int8(id), .int8(date.unixMilliseconds), .int8(Int64(limit)), .int8(last.expires), .bytes(last.key),
          ]))
      guard rows.count > 0 else { return }
      for index in 0..<rows.count {
        let row = StoredRow(rows, index, from: 1)
        // The column only serves to find them; the attributes decide, and a damaged row is not absent.
        guard let key = KeyName(data: rows.data(index, 0)), row.attributes?.isExpired(at: date) == true,
          row.isWhole(RowName(isRecord: false, key: key), store: id)
        else { continue }
        expired.append((key, row.revision))
      }
      last = (rows.int8(rows.count - 1, 5), rows.data(rows.count - 1, 0))
    } while expired.isEmpty
    // Large values make a short page: the next sweep finds whether there are more.
    sweeping.noteMore()
    let batch = WriteBatch(sweeping: expired)
    let request = CommitRequest(batch, store: id, origin: StoreOrigin(), at: clock.now(), isSweep: true)
    let commit = try await commit(request)
    let facts = StoreEvent.Commit(commit, batch, .relaxed, since: start, isSweep: true)
    database.configuration.events?.emitLater(location, .committed(facts))
  }
}
