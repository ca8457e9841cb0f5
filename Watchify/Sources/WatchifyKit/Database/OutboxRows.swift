import CofferDatabase
import Foundation

/// The outbox: the events that are still to be delivered by each channel. Rows are written in the transaction of their
/// events, so no event is lost, and deleted after delivery.
///
/// A process may end between a delivery and its record, and a server may accept a message without an answer. Such an
/// event is delivered a second time, and never a third time: after two deliveries with an unknown outcome, like after
/// ``lifetime``, it is given up and counted, and the channel's next message states the count.
enum OutboxRows {
  /// The events that a channel is about to deliver.
  struct Batch: Sendable {
    var channel: String
    var claim: String
    var events: [ChangeEventDTO]
  }

  /// The time after which a claim expires, in seconds: its process is taken to have ended, and another one may claim
  /// the events. Longer than the deadline of any delivery.
  static let claimLifetime: TimeInterval = 60
  /// The time after which undelivered events are given up, in seconds; longer than any quiet hours and two of the
  /// longest intervals.
  static let lifetime: TimeInterval = 3 * 24 * 3_600
  /// The maximum delay of a row, in seconds: the longest stock quiet hours and the time until the digest after them. A
  /// longer one means that the clock was set back, and is ignored.
  static let longestWait: TimeInterval = 50 * 3_600
  /// The number of deliveries with an unknown outcome after which an event is given up.
  private static let deliveries = 2

  /// Inserts the events that are to be notified.
  static func enqueue(
    _ events: [(row: Int64, event: ChangeEventDTO)], store: StoreRecord, _ preferences: NotificationPreferences,
    at now: Date, in transaction: SQLiteTransaction
  ) throws {
    let waiting = try WaitingNews(of: store.no, in: transaction)
    var channels = try ChannelRows.names(in: transaction)
    channels += Set(preferences.channels).subtracting(channels.map(\.name)).map { (name: $0, digest: nil) }
    for (row, event) in events {
      let undone = try waiting.withdraw(contradicting: event)
      let stock = ToldStock(of: event, store: store.no)
      try stock?.withdraw(in: transaction)
      guard preferences.wants(event), !channels.isEmpty else {
        // The change is not notified, so the current stock becomes the base for the next change.
        try stock?.settle(in: transaction)
        continue
      }
      let wish = try WishRows.turn(event, store: store.no, preferences, now, transaction)
      guard let notBefore = try stock.map({ try $0.turn(preferences, now, transaction) }) ?? wish ?? .distantPast else {
        continue
      }
      for channel in channels where !undone.contains(channel.name) {
        let turn = channel.digest?.next(after: max(now, notBefore)) ?? notBefore
        try transaction.execute(
          "INSERT INTO outbox (channel, event, store, created_at, not_before) VALUES (?1, ?2, ?3, ?4, ?5)",
          [.text(channel.name), .integer(row), .integer(store.no), .date(now), .date(turn)])
      }
    }
  }

  /// Returns the earliest date at which a channel may deliver something; `nil` if there is nothing to deliver.
  static func nextTurn(of channels: [String], at now: Date, in transaction: some Querying) throws -> Date? {
    let end = SQLiteValue.date(now.addingTimeInterval(longestWait))
    return try channels.compactMap { channel -> Date? in
      let events = try transaction.query(
        "SELECT min(not_before) FROM outbox WHERE channel = ?1 AND not_before <= ?2", [.text(channel), end]
      ) { $0.optionalDate(0) }[0]
      let state = try ChannelRows.state(of: channel, at: now, in: transaction)
      guard let turn = events ?? (state.missed > 0 ? .distantPast : nil) else { return nil }
      return max(turn, state.nextAttempt ?? turn)
    }.min()
  }

  /// Gives up the events that could not be delivered within `lifetime`.
  static func purge(at now: Date, in transaction: SQLiteTransaction) throws {
    try giveUp("created_at < ?1", [.date(now.addingTimeInterval(-lifetime))], transaction)
  }

  private static func giveUp(_ condition: String, _ values: [SQLiteValue], _ transaction: SQLiteTransaction) throws {
    let counts = try transaction.query(
      "SELECT channel, count(*) FROM outbox WHERE \(condition) GROUP BY channel", values
    ) { (channel: $0.text(0), count: Int($0.integer(1))) }
    guard !counts.isEmpty else { return }
    for (channel, count) in counts { try ChannelRows.miss(count, of: channel, in: transaction) }
    try transaction.execute("DELETE FROM outbox WHERE \(condition)", values)
  }

  /// Claims the events that are due for a channel; `nil` if none are, or if the channel pauses after a failure. No
  /// other process can claim them until the claim expires.
  /// - Parameter ofAllStores: whether the events of all stores are claimed; otherwise those of one.
  static func claim(
    _ channel: String, only ids: Set<UUID>? = nil, ofAllStores: Bool = false, at now: Date,
    in transaction: SQLiteTransaction
  ) throws -> Batch? {
    try purge(at: now, in: transaction)
    guard try ChannelRows.state(of: channel, at: now, in: transaction).nextAttempt == nil else { return nil }
    let dead = SQLiteValue.date(now.addingTimeInterval(-claimLifetime))
    let isUnclaimed = "(claim IS NULL OR claimed_at < ?2 OR claimed_at > ?3)"
    try giveUp(
      "channel = ?1 AND begun >= \(deliveries) AND \(isUnclaimed)", [.text(channel), dead, .date(now)], transaction)
    let chosen = EventRows.condition(on: "event", isIn: ids)
    let free = """
      \(chosen) \(isUnclaimed) AND (not_before <= ?3 OR not_before > ?3 + \(Int(longestWait * 1_000)))
      """
    // A wish has its own notification, which the store's other news does not replace.
    let wish = "coalesce((SELECT wish FROM events WHERE row = event), '')"
    let waiting = try transaction.query(
      """
      SELECT store, \(wish) FROM outbox WHERE channel = ?1 AND \(free) ORDER BY event LIMIT 1
      """, [.text(channel), dead, .date(now)]
    ) { (store: $0.integer(0), wish: $0.text(1)) }.first
    guard let (store, subject) = waiting else { return nil }
    let claim = UUID().uuidString
    try transaction.execute(
      """
      UPDATE outbox SET claim = ?4, claimed_at = ?3, attempts = attempts + 1, begun = begun + 1
      WHERE channel = ?1 AND \(free) AND (store = ?5 AND \(wish) = ?6 OR ?7)
      """,
      [.text(channel), dead, .date(now), .text(claim), .integer(store), .text(subject), .flag(ofAllStores)])
    try transaction.execute(
      """
      UPDATE events SET notified_at = ?3 WHERE row IN (SELECT event FROM outbox WHERE channel = ?1 AND claim = ?2)
      """, [.text(channel), .text(claim), .date(now)])
    try ToldStock.settle(channel: channel, claim: claim, at: now, in: transaction)
    let events = try EventRows.read(
      "SELECT event AS row FROM outbox WHERE channel = ?1 AND claim = ?2 ORDER BY event",
      [.text(channel), .text(claim)], transaction)
    return events.isEmpty ? nil : Batch(channel: channel, claim: claim, events: events)
  }

  /// Deletes the rows of a delivered batch.
  static func finish(_ batch: Batch, in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      "DELETE FROM outbox WHERE channel = ?1 AND claim = ?2", [.text(batch.channel), .text(batch.claim)])
  }

  /// Releases a batch that was not delivered, to be retried from `until` on.
  /// - Parameter isUncertain: whether it may have been delivered although no answer came.
  static func giveBack(_ batch: Batch, until: Date, isUncertain: Bool, in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      """
      UPDATE outbox SET claim = NULL, claimed_at = NULL, not_before = ?3, begun = begun - ?4
      WHERE channel = ?1 AND claim = ?2
      """, [.text(batch.channel), .text(batch.claim), .date(until), .flag(!isUncertain)])
  }
}
