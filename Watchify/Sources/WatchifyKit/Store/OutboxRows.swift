import CofferDatabase
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
    let waiting = try WaitingNews(of: store.no, in: transaction)
    for (row, event) in events {
      let undone = try waiting.withdraw(contradicting: event)
      let stock = ToldStock(of: event, store: store.no)
      try stock?.withdraw(in: transaction)
      guard preferences.wants(event), !preferences.channels.isEmpty else {
        // Nobody is told, so what they know is the truth: the next change is news again.
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
    try ToldStock.settle(channel: channel, claim: claim, at: now, in: transaction)
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
