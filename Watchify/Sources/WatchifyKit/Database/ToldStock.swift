import CofferDatabase
import Foundation

/// A variant's stock as last notified, or its current stock if its changes are not notified.
///
/// Stock changes of a variant are notified at most once in some hours. An undelivered change is replaced by the next
/// one, or dropped if that restores the notified stock.
struct ToldStock {
  private let isAvailable: Bool
  private let subject: [SQLiteValue]

  /// Creates the state for an event; `nil` if the event is not about stock.
  init?(of event: ChangeEventDTO, store: Int64) {
    guard event.changeType.isStock, let product = event.productShopifyId, let variant = event.variantShopifyId else {
      return nil
    }
    isAvailable = event.changeType == .backInStock
    subject = [.integer(store), .integer(product), .integer(variant)]
  }

  /// Deletes undelivered stock events of the variant, which are out of date. If none was ever notified, the stock
  /// before the first of them counts as notified.
  func withdraw(in transaction: SQLiteTransaction) throws {
    let waiting = try transaction.query(
      """
      SELECT DISTINCT o.event, e.type FROM outbox AS o CROSS JOIN events AS e ON e.row = o.event
      WHERE o.claim IS NULL AND e.store = ?1 AND e.product = ?2 AND e.variant = ?3 AND e.type IN (3, 4)
      ORDER BY o.event
      """, subject
    ) { (event: $0.integer(0), type: $0.integer(1)) }
    for row in waiting { try transaction.execute("DELETE FROM outbox WHERE event = ?1", [.integer(row.event)]) }
    guard let first = waiting.first else { return }
    try transaction.execute(
      "INSERT OR IGNORE INTO told_stock VALUES (?1, ?2, ?3, ?4, NULL)",
      subject + [.flag(first.type != ChangeType.backInStock.code)])
  }

  /// Records the current stock as notified.
  func settle(in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      """
      INSERT INTO told_stock VALUES (?1, ?2, ?3, ?4, NULL) ON CONFLICT DO UPDATE SET is_available = ?4
      """, subject + [.flag(isAvailable)])
  }

  /// Returns the date from which the current stock may be notified; `nil` if it equals the notified stock.
  func turn(_ preferences: NotificationPreferences, _ now: Date, _ transaction: SQLiteTransaction) throws -> Date? {
    let told = try transaction.query(
      "SELECT is_available, told_at FROM told_stock WHERE store = ?1 AND product = ?2 AND variant = ?3", subject
    ) { (isAvailable: $0.flag(0), at: $0.optionalDate(1)) }.first
    guard let told else { return .distantPast }
    guard told.isAvailable != isAvailable else { return nil }
    // A date in the future means that the clock was set back.
    guard let at = told.at, at <= now else { return .distantPast }
    return at.addingTimeInterval(3_600 * Double(min(24, max(0, preferences.stockQuietHours))))
  }

  /// Records the stock events that a channel has claimed as notified.
  static func settle(channel: String, claim: String, at now: Date, in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      """
      INSERT OR REPLACE INTO told_stock
        SELECT e.store, e.product, e.variant, e.type = 3, ?3
        FROM outbox AS o CROSS JOIN events AS e ON e.row = o.event
        WHERE o.channel = ?1 AND o.claim = ?2 AND e.type IN (3, 4) AND e.product IS NOT NULL AND e.variant IS NOT NULL
        ORDER BY e.row
      """, [.text(channel), .text(claim), .date(now)])
  }
}
