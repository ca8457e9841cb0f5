import CofferSQLite
import Foundation

/// The database rows of page validators, which make the next read of a store conditional.
enum ValidatorRows {
  /// The lifetime of validators, in seconds: a shop is read completely once a day, because a cache in front of it may
  /// be wrong.
  static let lifetime: TimeInterval = 86_400

  /// Returns the validators for the next read of a store; empty if that must be a complete read.
  ///
  /// A complete read is required after missing products, after a failure or closure, and after a change of market or
  /// headers.
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
    // Undecodable validators cost a complete read, which replaces them.
    return found.flatMap { try? JSONDecoder().decode([PageValidator].self, from: Data($0.utf8)) } ?? []
  }

  /// Replaces the validators of a store with those of a complete read; deletes them if there are none.
  static func keep(
    _ validators: [PageValidator], of store: StoreRecord, at now: Date, in transaction: SQLiteDatabase.Transaction
  ) throws {
    guard !validators.isEmpty else { return try forget(store.no, in: transaction) }
    try transaction.execute(
      "INSERT OR REPLACE INTO validators VALUES (?1, ?2, ?3, ?4)",
      [
        .integer(store.no), .date(now), .optional(store.country),
        .text(String(decoding: try JSONEncoder().encode(validators), as: UTF8.self)),
      ])
  }

  static func forget(_ store: Int64, in transaction: SQLiteDatabase.Transaction) throws {
    try transaction.execute("DELETE FROM validators WHERE store = ?1", [.integer(store)])
  }
}
