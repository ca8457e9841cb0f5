import CofferDatabase
import Foundation

/// Keeps what a shop gave with the pages of its last whole read, so that it is asked for changes only.
enum ValidatorRows {
  /// A shop is read as a whole once a day in any case: what stands before it may be wrong about what has changed.
  static let lifetime: TimeInterval = 86_400

  /// What the next read of a store is asked with; none where "unchanged" would not be the whole truth.
  ///
  /// What was missing has to be looked for again, a store that failed or was closed has to answer, and
  /// another market, or headers that let in, show another listing.
  static func usable(for store: StoreRecord, at now: Date, in transaction: some Querying) throws -> [PageValidator] {
    guard !store.isClosed, store.baseCurrency != nil, store.readCountry == store.country else { return [] }
    let found = try transaction.query(
      """
      SELECT v.pages FROM validators AS v JOIN stores AS s ON s.no = v.store
      WHERE v.store = ?1 AND v.at > ?2 AND v.at <= ?3 AND v.country IS ?4 AND s.last_error IS NULL AND NOT EXISTS (
        SELECT 1 FROM products WHERE store = ?1 AND is_removed = 0 AND missing_reads > 0) AND NOT EXISTS (
        SELECT 1 FROM products AS p JOIN variants AS w ON w.product = p.row
        WHERE p.store = ?1 AND p.is_removed = 0 AND w.missing_since > ?2)
      """,
      [.integer(store.no), .date(now.addingTimeInterval(-lifetime)), .date(now), .optional(store.country)]
    ) { $0.text(0) }.first
    // What cannot be read costs a whole read, and is replaced by it.
    return found.flatMap { try? JSONDecoder().decode([PageValidator].self, from: Data($0.utf8)) } ?? []
  }

  /// Keeps those of a whole read; one that gave none leaves none.
  static func keep(
    _ validators: [PageValidator], of store: StoreRecord, at now: Date, in transaction: SQLiteTransaction
  ) throws {
    guard !validators.isEmpty else { return try forget(store.no, in: transaction) }
    try transaction.execute(
      "INSERT OR REPLACE INTO validators VALUES (?1, ?2, ?3, ?4)",
      [
        .integer(store.no), .date(now), .optional(store.country),
        .text(String(decoding: try JSONEncoder().encode(validators), as: UTF8.self)),
      ])
  }

  static func forget(_ store: Int64, in transaction: SQLiteTransaction) throws {
    try transaction.execute("DELETE FROM validators WHERE store = ?1", [.integer(store)])
  }
}
