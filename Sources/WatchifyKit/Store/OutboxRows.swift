import CofferSQLite
import Foundation

/// What channels still have to tell. Written in the transaction of the events, so that no news is lost; a row goes away
/// when it was told, so that none is told twice.
enum OutboxRows {
  /// News of one store that a channel is about to tell.
  struct Batch: Sendable {
    var channel: String
    var claim: String
    var store: UUID
    var events: [ChangeEventDTO]
  }

  /// A teller that was not done after this long has died: somebody else goes on.
  static let claimLifetime: TimeInterval = 60
  /// What nobody could be told for this long is old.
  static let lifetime: TimeInterval = 24 * 3_600

  /// Puts down what is worth a notification.
  static func enqueue(
    _ events: [(row: Int64, event: ChangeEventDTO)], store: StoreRecord, _ preferences: NotificationPreferences,
    at now: Date, in transaction: SQLiteTransaction
  ) throws {
    for (row, event) in events where preferences.wants(event) {
      guard try !isFlapping(event, store, preferences, now, transaction) else { continue }
      try transaction.execute("UPDATE events SET is_notified = 1 WHERE row = ?1", [.integer(row)])
      for channel in Set(preferences.channels) {
        try transaction.execute(
          "INSERT INTO outbox (channel, event, store, created_at) VALUES (?1, ?2, ?3, ?4)",
          [.text(channel), .integer(row), .integer(store.no), .date(now)])
      }
    }
  }

  /// Whether this variant's stock was told of a short while ago: sizes that come and go are told once.
  private static func isFlapping(
    _ event: ChangeEventDTO, _ store: StoreRecord, _ preferences: NotificationPreferences, _ now: Date,
    _ transaction: SQLiteTransaction
  ) throws -> Bool {
    guard event.changeType.isStock, let product = event.productShopifyId, let variant = event.variantShopifyId else {
      return false
    }
    let since = now.addingTimeInterval(-3_600 * Double(preferences.stockQuietHours))
    return try transaction.query(
      """
      SELECT 1 FROM events WHERE store = ?1 AND product = ?2 AND variant = ?3 AND type IN (3, 4) AND is_notified = 1
        AND at > ?4 LIMIT 1
      """, [.integer(store.no), .integer(product), .integer(variant), .date(since)]
    ) { _ in true }.first ?? false
  }

  /// Takes the waiting news of one store for one channel; `nil` when none waits. Nobody else takes it while the claim
  /// lives.
  static func claim(_ channel: String, at now: Date, in transaction: SQLiteTransaction) throws -> Batch? {
    try transaction.execute(
      "DELETE FROM outbox WHERE channel = ?1 AND created_at < ?2",
      [.text(channel), .date(now.addingTimeInterval(-lifetime))])
    let free = "(claim IS NULL OR claimed_at < ?2 OR claimed_at > ?3)"
    let dead = SQLiteValue.date(now.addingTimeInterval(-claimLifetime))
    let waiting = try transaction.query(
      """
      SELECT store FROM outbox WHERE channel = ?1 AND \(free) AND not_before <= ?3 ORDER BY event LIMIT 1
      """, [.text(channel), dead, .date(now)]
    ) { $0.integer(0) }.first
    guard let store = waiting else { return nil }
    let claim = UUID().uuidString
    try transaction.execute(
      """
      UPDATE outbox SET claim = ?4, claimed_at = ?3, attempts = attempts + 1
      WHERE channel = ?1 AND \(free) AND not_before <= ?3 AND store = ?5
      """, [.text(channel), dead, .date(now), .text(claim), .integer(store)])
    let events = try EventRows.read(
      "SELECT event AS row FROM outbox WHERE channel = ?1 AND claim = ?2 ORDER BY event",
      [.text(channel), .text(claim)], transaction)
    let id = try StoreRecord.all("WHERE no = ?1", [.integer(store)], in: transaction).first?.id
    guard let id, !events.isEmpty else { return nil }
    return Batch(channel: channel, claim: claim, store: id, events: events)
  }

  /// It was told.
  static func finish(_ batch: Batch, in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      "DELETE FROM outbox WHERE channel = ?1 AND claim = ?2", [.text(batch.channel), .text(batch.claim)])
  }

  /// It was not told: it waits for its next turn.
  static func giveBack(_ batch: Batch, until: Date, in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      "UPDATE outbox SET claim = NULL, claimed_at = NULL, not_before = ?3 WHERE channel = ?1 AND claim = ?2",
      [.text(batch.channel), .text(batch.claim), .date(until)])
  }
}
