import CofferSQLite
import Foundation

/// The database rows of the pauses that shops have requested.
enum RestRows {
  typealias Rest = RequestGate.Rest

  /// Returns all pauses, including ended ones.
  static func all(in transaction: some Querying) throws -> [Rest] {
    try transaction.query("SELECT shop, until, refusals, since FROM rests ORDER BY shop", []) { row -> Rest? in
      let name = row.text(0)
      let shop = name.isEmpty ? nil : try? ShopAddress(name)
      guard name.isEmpty || shop != nil else { return nil }
      return Rest(shop: shop, until: row.date(1), refusals: Int(clamping: row.integer(2)), since: row.date(3))
    }.compactMap { $0 }
  }

  /// Stores a pause. An existing pause that ends later is kept, unless its end shows that the clock was set back.
  static func keep(_ rest: Rest, in transaction: SQLiteDatabase.Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO rests VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO UPDATE
      SET until = CASE WHEN until > ?5 THEN ?2 ELSE max(until, ?2) END, refusals = ?3, since = ?4
      """,
      [
        .text(rest.shop?.domain ?? ""), .date(rest.until), .integer(Int64(rest.refusals)), .date(rest.since),
        .date(rest.since.addingTimeInterval(RequestGate.longestRest)),
      ])
  }

  /// Resets the refusals of a shop, and of Shopify, after a successful read.
  static func served(_ domain: String, at now: Date, in transaction: SQLiteDatabase.Transaction) throws {
    try transaction.execute(
      "UPDATE rests SET refusals = 0, since = ?2 WHERE shop IN (?1, '') AND refusals > 0 AND until <= ?2",
      [.text(domain), .date(now)])
  }

  /// Ends pauses.
  static func end(_ rests: [Rest], at now: Date, in transaction: SQLiteDatabase.Transaction) throws {
    for rest in rests {
      try transaction.execute(
        "UPDATE rests SET until = 0, refusals = 0, since = ?2 WHERE shop = ?1",
        [.text(rest.shop?.domain ?? ""), .date(now)])
    }
  }
}
