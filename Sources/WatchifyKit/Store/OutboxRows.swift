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
  /// What nobody could be told for this long is old: longer than any quiet hours and two of the longest intervals.
  static let lifetime: TimeInterval = 3 * 24 * 3_600
  /// No row waits longer than this; one that does was written by a clock that was set back since.
  private static let longestWait: TimeInterval = 24 * 3_600

  /// Puts down what is worth a notification.
  static func enqueue(
    _ events: [(row: Int64, event: ChangeEventDTO)], store: StoreRecord, _ preferences: NotificationPreferences,
    at now: Date, in transaction: SQLiteTransaction
  ) throws {
    for (row, event) in events where preferences.wants(event) {
      guard let notBefore = try turn(of: event, store, preferences, now, transaction) else { continue }
      for channel in Set(preferences.channels) {
        try transaction.execute(
          "INSERT INTO outbox (channel, event, store, created_at, not_before) VALUES (?1, ?2, ?3, ?4, ?5)",
          [.text(channel), .integer(row), .integer(store.no), .date(now), .date(notBefore)])
      }
    }
  }

  /// When an event may be told; `nil` for never.
  ///
  /// A variant's stock is told once in some hours, and the last word is the true one: a change that waits is replaced
  /// by the next, and dropped when that leads back to what was told last.
  private static func turn(
    of event: ChangeEventDTO, _ store: StoreRecord, _ preferences: NotificationPreferences, _ now: Date,
    _ transaction: SQLiteTransaction
  ) throws -> Date? {
    guard event.changeType.isStock, let product = event.productShopifyId, let variant = event.variantShopifyId else {
      return .distantPast
    }
    let subject: [SQLiteValue] = [.integer(store.no), .integer(product), .integer(variant)]
    let own = "store = ?1 AND product = ?2 AND variant = ?3 AND type IN (3, 4)"
    let waiting = try transaction.query(
      "SELECT DISTINCT event FROM outbox WHERE claim IS NULL AND event IN (SELECT row FROM events WHERE \(own))",
      subject
    ) { $0.integer(0) }
    for row in waiting { try transaction.execute("DELETE FROM outbox WHERE event = ?1", [.integer(row)]) }
    let told = try transaction.query(
      """
      SELECT type, notified_at FROM events WHERE \(own) AND notified_at <= ?4 ORDER BY row DESC LIMIT 1
      """, subject + [.date(now)]
    ) { (type: $0.integer(0), at: $0.date(1)) }.first
    guard let told else { return waiting.isEmpty ? .distantPast : nil }
    guard told.type != event.changeType.code else { return nil }
    return told.at.addingTimeInterval(3_600 * Double(min(24, max(0, preferences.stockQuietHours))))
  }

  /// When the next news may be told, if any waits and nobody tells it now.
  static func nextTurn(of channels: [String], at now: Date, in transaction: some Querying) throws -> Date? {
    try channels.compactMap { channel in
      try transaction.query(
        "SELECT min(not_before) FROM outbox WHERE channel = ?1 AND not_before <= ?2",
        [.text(channel), .date(now.addingTimeInterval(longestWait))]
      ) { $0.optionalDate(0) }[0]
    }.min()
  }

  /// Lets go of what nobody could be told.
  static func purge(at now: Date, in transaction: SQLiteTransaction) throws {
    try transaction.execute("DELETE FROM outbox WHERE created_at < ?1", [.date(now.addingTimeInterval(-lifetime))])
  }

  /// Takes the waiting news of one store for one channel; `nil` when none waits. Nobody else takes it while the claim
  /// lives.
  static func claim(_ channel: String, at now: Date, in transaction: SQLiteTransaction) throws -> Batch? {
    try purge(at: now, in: transaction)
    let free = """
      (claim IS NULL OR claimed_at < ?2 OR claimed_at > ?3)
      AND (not_before <= ?3 OR not_before > ?3 + \(Int(longestWait * 1_000)))
      """
    let dead = SQLiteValue.date(now.addingTimeInterval(-claimLifetime))
    let waiting = try transaction.query(
      """
      SELECT store FROM outbox WHERE channel = ?1 AND \(free) ORDER BY event LIMIT 1
      """, [.text(channel), dead, .date(now)]
    ) { $0.integer(0) }.first
    guard let store = waiting else { return nil }
    let claim = UUID().uuidString
    try transaction.execute(
      """
      UPDATE outbox SET claim = ?4, claimed_at = ?3, attempts = attempts + 1
      WHERE channel = ?1 AND \(free) AND store = ?5
      """, [.text(channel), dead, .date(now), .text(claim), .integer(store)])
    try transaction.execute(
      """
      UPDATE events SET notified_at = ?3 WHERE row IN (SELECT event FROM outbox WHERE channel = ?1 AND claim = ?2)
      """, [.text(channel), .text(claim), .date(now)])
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
