import CofferDatabase
import Foundation

/// Deletes events of a channel that went out of date while a delivery was in progress, which then failed or was
/// interrupted.
///
/// An event is not withdrawn while it is delivered, so that a newer event of the same variant may lie beside it.
enum OutdatedNews {
  static func drop(of channel: String, at now: Date, in transaction: SQLiteTransaction) throws {
    try dropStock(channel, now, transaction)
    try dropPrices(channel, now, transaction)
  }

  /// The newest event of the same variant in the outbox of the channel.
  private static func newer(_ condition: String) -> String {
    """
    (SELECT max(n.row) FROM events AS n CROSS JOIN outbox AS w ON w.event = n.row
      WHERE n.store = e.store AND n.product = e.product AND n.variant = e.variant AND n.row > e.row
        AND w.channel = o.channel AND \(condition))
    """
  }

  private static func dropStock(_ channel: String, _ now: Date, _ transaction: SQLiteTransaction) throws {
    let rows = try transaction.query(
      """
      SELECT e.row, e.store, e.product, e.variant, o.begun > 0, o.claimed_at, \(newer("n.type IN (3, 4)")) AS newer
      FROM outbox AS o CROSS JOIN events AS e ON e.row = o.event
      LEFT JOIN channel_stock AS s
        ON s.store = e.store AND s.product = e.product AND s.variant = e.variant AND s.channel = o.channel
      WHERE o.channel = ?1 AND o.attempts > 0 AND \(OutboxRows.isFree(at: now)) AND e.type IN (3, 4)
        AND e.variant IS NOT NULL AND (s.row > e.row OR newer IS NOT NULL)
      """, [.text(channel)]
    ) {
      (
        row: $0.integer(0),
        variant: VariantRow(store: $0.integer(1), product: $0.integer(2), variant: $0.integer(3)),
        isUncertain: $0.flag(4), at: $0.optionalDate(5), newer: $0.optionalInteger(6)
      )
    }
    for row in rows {
      if row.isUncertain {
        try ToldStock.record(.uncertain, of: row.variant, channel, row: row.row, at: row.at, in: transaction)
      }
      try delete(row.row, channel, transaction)
      guard let newer = row.newer else { continue }
      // The newer one restores what was notified before the failed delivery.
      try transaction.execute(
        """
        DELETE FROM outbox WHERE channel = ?4 AND event = ?5 AND claim IS NULL AND EXISTS (
          SELECT 1 FROM channel_stock AS s CROSS JOIN events AS e ON e.row = ?5
          WHERE s.store = ?1 AND s.product = ?2 AND s.variant = ?3 AND s.channel = ?4 AND s.state = (e.type = 3))
        """, row.variant.values + [.text(channel), .integer(newer)])
    }
  }

  private static func dropPrices(_ channel: String, _ now: Date, _ transaction: SQLiteTransaction) throws {
    // The base of the oldest is set last.
    let rows = try transaction.query(
      """
      SELECT e.row, coalesce(o.base_price, e.old_price), o.begun > 0,
        \(newer("n.type IN (1, 2) AND n.currency IS e.currency")) AS newer
      FROM outbox AS o CROSS JOIN events AS e ON e.row = o.event
      WHERE o.channel = ?1 AND o.attempts > 0 AND \(OutboxRows.isFree(at: now)) AND e.type IN (1, 2)
        AND newer IS NOT NULL ORDER BY e.row DESC
      """, [.text(channel)]
    ) { (row: $0.integer(0), base: $0.optionalPrice(1), isUncertain: $0.flag(2), newer: $0.integer(3)) }
    for row in rows {
      if !row.isUncertain, let base = row.base {
        try transaction.execute(
          "UPDATE outbox SET base_price = ?3 WHERE channel = ?1 AND event = ?2",
          [.text(channel), .integer(row.newer), .price(base)])
      }
      try delete(row.row, channel, transaction)
    }
  }

  private static func delete(_ event: Int64, _ channel: String, _ transaction: SQLiteTransaction) throws {
    try transaction.execute(
      "DELETE FROM outbox WHERE channel = ?1 AND event = ?2", [.text(channel), .integer(event)])
  }
}
