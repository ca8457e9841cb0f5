import CofferSQLite
import Foundation

/// The times at which the channels last notified of a variant's stock: stock changes of a variant are notified at most
/// once in some hours.
enum ToldStock {
  /// Returns the date from which a channel may notify of a variant's stock again.
  static func turn(
    _ subject: NewsSubject, _ channel: String, _ preferences: NotificationPreferences, at now: Date,
    in transaction: SQLiteDatabase.Transaction
  ) throws -> Date {
    let told = try transaction.query(
      "SELECT told_at FROM stock_told WHERE store = ?1 AND product = ?2 AND variant = ?3 AND channel = ?4",
      [.integer(subject.store), .integer(subject.product), .optional(subject.variant), .text(channel)]
    ) { $0.date(0) }.first
    // A date in the future means that the clock was set back.
    guard let told, told <= now else { return .distantPast }
    return told.addingTimeInterval(3_600 * Double(min(24, max(0, preferences.stockQuietHours))))
  }

  /// Records the beginning of a notification, which counts unless it fails.
  static func begin(_ subject: NewsSubject, _ channel: String, at now: Date, in transaction: SQLiteDatabase.Transaction)
    throws
  {
    try transaction.execute(
      "INSERT OR REPLACE INTO stock_told VALUES (?1, ?2, ?3, ?4, ?5)",
      [.integer(subject.store), .integer(subject.product), .optional(subject.variant), .text(channel), .date(now)])
  }

  /// Deletes the records of a batch that was not delivered.
  static func end(_ batch: OutboxRows.Batch, in transaction: SQLiteDatabase.Transaction) throws {
    try transaction.execute(
      """
      DELETE FROM stock_told WHERE channel = ?1 AND told_at = ?3 AND (store, product, variant) IN (
        SELECT e.store, e.product, e.variant FROM outbox AS o CROSS JOIN events AS e ON e.row = o.event
        WHERE o.channel = ?1 AND o.claim = ?2 AND e.type IN (3, 4))
      """, [.text(batch.channel), .text(batch.claim), .date(batch.claimedAt)])
  }
}
