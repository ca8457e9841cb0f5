import CofferDatabase
import Foundation

/// The outbox: the events that are still to be delivered by each channel. Rows are written in the transaction of their
/// events, so no event is lost, and deleted after delivery, so none is delivered twice.
enum OutboxRows {
  /// The events of one store that a channel is about to deliver.
  struct Batch: Sendable {
    var channel: String
    var claim: String
    var store: UUID
    var events: [ChangeEventDTO]
  }

  /// The time after which a claim expires, in seconds: its process is taken to have ended, and another one may claim
  /// the events.
  static let claimLifetime: TimeInterval = 60
  /// The time after which undelivered events are dropped, in seconds; longer than any quiet hours and two of the
  /// longest intervals.
  static let lifetime: TimeInterval = 3 * 24 * 3_600
  /// The maximum delay of a row, in seconds. A longer one means that the clock was set back, and is ignored.
  private static let longestWait: TimeInterval = 24 * 3_600

  /// Inserts the events that are to be notified.
  static func enqueue(
    _ events: [(row: Int64, event: ChangeEventDTO)], store: StoreRecord, _ preferences: NotificationPreferences,
    at now: Date, in transaction: SQLiteTransaction
  ) throws {
    let waiting = try WaitingNews(of: store.no, in: transaction)
    for (row, event) in events {
      let undone = try waiting.withdraw(contradicting: event)
      let stock = ToldStock(of: event, store: store.no)
      try stock?.withdraw(in: transaction)
      guard preferences.wants(event), !preferences.channels.isEmpty else {
        // The change is not notified, so the current stock becomes the base for the next change.
        try stock?.settle(in: transaction)
        continue
      }
      guard let notBefore = try stock.map({ try $0.turn(preferences, now, transaction) }) ?? .distantPast else {
        continue
      }
      for channel in Set(preferences.channels).subtracting(undone) {
        try transaction.execute(
          "INSERT INTO outbox (channel, event, store, created_at, not_before) VALUES (?1, ?2, ?3, ?4, ?5)",
          [.text(channel), .integer(row), .integer(store.no), .date(now), .date(notBefore)])
      }
    }
  }

  /// Returns the earliest date at which an event may be delivered; `nil` if none is in the outbox.
  static func nextTurn(of channels: [String], at now: Date, in transaction: some Querying) throws -> Date? {
    try channels.compactMap { channel in
      try transaction.query(
        "SELECT min(not_before) FROM outbox WHERE channel = ?1 AND not_before <= ?2",
        [.text(channel), .date(now.addingTimeInterval(longestWait))]
      ) { $0.optionalDate(0) }[0]
    }.min()
  }

  /// Deletes the events that could not be delivered within `lifetime`.
  static func purge(at now: Date, in transaction: SQLiteTransaction) throws {
    try transaction.execute("DELETE FROM outbox WHERE created_at < ?1", [.date(now.addingTimeInterval(-lifetime))])
  }

  /// Claims the events of one store that are due for a channel; `nil` if none are. No other process can claim them
  /// until the claim expires.
  static func claim(
    _ channel: String, only ids: Set<UUID>? = nil, at now: Date, in transaction: SQLiteTransaction
  ) throws -> Batch? {
    try purge(at: now, in: transaction)
    let chosen = EventRows.condition(on: "event", isIn: ids)
    let free = """
      \(chosen)
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
    try ToldStock.settle(channel: channel, claim: claim, at: now, in: transaction)
    let events = try EventRows.read(
      "SELECT event AS row FROM outbox WHERE channel = ?1 AND claim = ?2 ORDER BY event",
      [.text(channel), .text(claim)], transaction)
    let id = try StoreRecord.all("WHERE no = ?1", [.integer(store)], in: transaction).first?.id
    guard let id, !events.isEmpty else { return nil }
    return Batch(channel: channel, claim: claim, store: id, events: events)
  }

  /// Deletes the rows of a delivered batch.
  static func finish(_ batch: Batch, in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      "DELETE FROM outbox WHERE channel = ?1 AND claim = ?2", [.text(batch.channel), .text(batch.claim)])
  }

  /// Releases an undelivered batch, to be retried from `until` on.
  static func giveBack(_ batch: Batch, until: Date, in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      "UPDATE outbox SET claim = NULL, claimed_at = NULL, not_before = ?3 WHERE channel = ?1 AND claim = ?2",
      [.text(batch.channel), .text(batch.claim), .date(until)])
  }
}
