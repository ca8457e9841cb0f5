import CofferDatabase
import Foundation

/// A variant's stock as last notified by each channel, or its current stock if its changes are not notified.
///
/// A channel notifies stock changes of a variant at most once in some hours. An undelivered change is replaced by the
/// next one, or dropped if that restores the notified stock. Only a delivery makes a change a notified one: a channel
/// that fails, or one that was added later, has notified nothing.
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

  /// Deletes undelivered stock events of the variant, which are out of date. For a channel that never notified one, the
  /// stock before the first of them counts as notified. What other channels than the given ones notified is forgotten:
  /// they are not selected, and would compare with an old stock later.
  func withdraw(for channels: [String], in transaction: SQLiteTransaction) throws {
    let waiting = try transaction.query(
      """
      SELECT o.channel, o.event, e.type FROM events AS e CROSS JOIN outbox AS o ON o.event = e.row
      WHERE o.claim IS NULL AND e.store = ?1 AND e.product = ?2 AND e.variant = ?3 AND e.type IN (3, 4)
      ORDER BY o.event
      """, subject
    ) { (channel: $0.text(0), event: $0.integer(1), type: $0.integer(2)) }
    for row in waiting {
      try transaction.execute(
        "INSERT OR IGNORE INTO channel_stock VALUES (?1, ?2, ?3, ?4, ?5, NULL)",
        subject + [.text(row.channel), .flag(row.type != ChangeType.backInStock.code)])
      try transaction.execute(
        "DELETE FROM outbox WHERE channel = ?1 AND event = ?2", [.text(row.channel), .integer(row.event)])
    }
    let names = String(decoding: try JSONEncoder().encode(channels), as: UTF8.self)
    try transaction.execute(
      """
      DELETE FROM channel_stock WHERE store = ?1 AND product = ?2 AND variant = ?3
        AND channel NOT IN (SELECT value FROM json_each(?4))
      """, subject + [.text(names)])
  }

  /// Records the current stock as notified by a channel.
  func settle(_ channel: String, in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      """
      INSERT INTO channel_stock VALUES (?1, ?2, ?3, ?4, ?5, NULL) ON CONFLICT DO UPDATE SET is_available = ?5
      """, subject + [.text(channel), .flag(isAvailable)])
  }

  /// Returns the date from which a channel may notify the current stock; `nil` if it equals the notified stock. An
  /// event whose delivery is in progress counts as notified: it is not withdrawn.
  func turn(
    _ channel: String, _ preferences: NotificationPreferences, _ now: Date, _ transaction: SQLiteTransaction
  ) throws -> Date? {
    let told =
      try transaction.query(
        """
        SELECT e.type = 3, o.claimed_at FROM (
            SELECT row, type FROM events WHERE store = ?1 AND product = ?2 AND variant = ?3 AND type IN (3, 4)
          ) AS e CROSS JOIN outbox AS o ON o.event = e.row
          WHERE o.channel = ?4 AND o.claim IS NOT NULL ORDER BY e.row DESC LIMIT 1
        """, subject + [.text(channel)]
      ) { (isAvailable: $0.flag(0), at: $0.optionalDate(1)) }.first ?? notified(channel, transaction)
    guard let told else { return .distantPast }
    guard told.isAvailable != isAvailable else { return nil }
    // A date in the future means that the clock was set back.
    guard let at = told.at, at <= now else { return .distantPast }
    return at.addingTimeInterval(3_600 * Double(min(24, max(0, preferences.stockQuietHours))))
  }

  private func notified(
    _ channel: String, _ transaction: SQLiteTransaction
  ) throws -> (isAvailable: Bool, at: Date?)? {
    try transaction.query(
      """
      SELECT is_available, told_at FROM channel_stock
      WHERE store = ?1 AND product = ?2 AND variant = ?3 AND channel = ?4
      """, subject + [.text(channel)]
    ) { (isAvailable: $0.flag(0), at: $0.optionalDate(1)) }.first
  }

  /// Records the stock events of rows of the outbox as notified by their channels.
  /// - Parameter condition: selects rows `o` of the outbox; its first value is ?1.
  static func settle(
    _ condition: String, _ values: [SQLiteValue], at now: Date, in transaction: SQLiteTransaction
  ) throws {
    try transaction.execute(
      """
      INSERT OR REPLACE INTO channel_stock
        SELECT e.store, e.product, e.variant, o.channel, e.type = 3, ?\(values.count + 1)
        FROM outbox AS o CROSS JOIN events AS e ON e.row = o.event
        WHERE \(condition) AND e.type IN (3, 4) AND e.product IS NOT NULL AND e.variant IS NOT NULL
        ORDER BY e.row
      """, values + [.date(now)])
  }
}
