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
      let bases = try waiting.withdraw(contradicting: event)
      let stock = ToldStock(of: event, store: store.no)
      try stock?.withdraw(for: channels.map(\.name), in: transaction)
      let wish = try WishRows.turn(event, store: store.no, preferences, now, transaction)
      let isWanted = preferences.wants(event)
      for channel in channels {
        let base = bases[channel.name]
        guard base.map({ event.since($0).map(preferences.wants) ?? false }) ?? isWanted else {
          // The change is not notified, so the current stock becomes the base for the next change.
          try stock?.settle(channel.name, in: transaction)
          continue
        }
        let stockTurn = try stock.map { try $0.turn(channel.name, preferences, now, transaction) }
        guard let notBefore = stockTurn ?? wish ?? .distantPast else { continue }
        let turn = channel.digest?.next(after: max(now, notBefore)) ?? notBefore
        try transaction.execute(
          """
          INSERT INTO outbox (channel, event, store, created_at, not_before, base_price) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
          """,
          [
            .text(channel.name), .integer(row), .integer(store.no), .date(now), .date(turn),
            .optional(base),
          ])
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

  /// Records the events of rows as notified by their channels.
  /// - Parameter condition: selects rows `o` of the outbox.
  private static func settle(
    _ condition: String, _ values: [SQLiteValue], at now: Date, in transaction: SQLiteTransaction
  ) throws {
    try transaction.execute(
      """
      UPDATE events SET notified_at = ?\(values.count + 1)
      WHERE row IN (SELECT o.event FROM outbox AS o WHERE \(condition))
      """, values + [.date(now)])
    try ToldStock.settle(condition, values, at: now, in: transaction)
  }

  // MARK: Claims

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
    let isDoubtful = "channel = ?1 AND begun >= \(deliveries) AND \(isUnclaimed)"
    // It may have been delivered.
    try settle(isDoubtful, [.text(channel), dead, .date(now)], at: now, in: transaction)
    try giveUp(isDoubtful, [.text(channel), dead, .date(now)], transaction)
    let chosen = EventRows.condition(on: "event", isIn: ids)
    let free = """
      \(chosen) \(isUnclaimed) AND (not_before <= ?3 OR not_before > ?3 + \(Int(longestWait * 1_000)))
      """
    // A wish has its own notification, which the store's other news does not replace.
    let wish = "coalesce((SELECT wish FROM events WHERE row = event), '')"
    let waiting = try transaction.query(
      """
      SELECT store, \(wish), most FROM outbox WHERE channel = ?1 AND \(free) ORDER BY event LIMIT 1
      """, [.text(channel), dead, .date(now)]
    ) { (store: $0.integer(0), wish: $0.text(1), most: $0.optionalInteger(2)) }.first
    guard let (store, subject, most) = waiting else { return nil }
    let claim = UUID().uuidString
    try transaction.execute(
      """
      UPDATE outbox SET claim = ?4, claimed_at = ?3, attempts = attempts + 1, begun = begun + 1
      WHERE channel = ?1 AND event IN (
        SELECT event FROM outbox
        WHERE channel = ?1 AND \(free) AND (store = ?5 AND \(wish) = ?6 OR ?7) AND most IS ?8
        ORDER BY event LIMIT coalesce(?8, -1))
      """,
      [
        .text(channel), dead, .date(now), .text(claim), .integer(store), .text(subject), .flag(ofAllStores),
        .optional(most),
      ])
    let events = try events(of: channel, claim, transaction)
    return events.isEmpty ? nil : Batch(channel: channel, claim: claim, events: events)
  }

  /// Returns claimed events, with changes of prices since the price that the channel notified last.
  private static func events(
    of channel: String, _ claim: String, _ transaction: SQLiteTransaction
  ) throws -> [ChangeEventDTO] {
    let values: [SQLiteValue] = [.text(channel), .text(claim)]
    let events = try EventRows.read(
      "SELECT event AS row FROM outbox WHERE channel = ?1 AND claim = ?2 ORDER BY event", values, transaction)
    let bases = try transaction.query(
      """
      SELECT e.id, o.base_price FROM outbox AS o CROSS JOIN events AS e ON e.row = o.event
      WHERE o.channel = ?1 AND o.claim = ?2 AND o.base_price IS NOT NULL
      """, values
    ) { (UUID(uuidString: $0.text(0)) ?? UUID(), $0.price(1)) }
    guard !bases.isEmpty else { return events }
    let known = Dictionary(bases) { first, _ in first }
    return events.map { event in known[event.id].flatMap { event.since($0) } ?? event }
  }

  /// Deletes the rows of a delivered batch.
  static func finish(_ batch: Batch, at now: Date, in transaction: SQLiteTransaction) throws {
    let values: [SQLiteValue] = [.text(batch.channel), .text(batch.claim)]
    try settle("o.channel = ?1 AND o.claim = ?2", values, at: now, in: transaction)
    try transaction.execute("DELETE FROM outbox WHERE channel = ?1 AND claim = ?2", values)
  }

  /// Releases a batch that was not delivered, to be retried from `until` on.
  /// - Parameters:
  ///   - until: the earliest date of the next attempt.
  ///   - isUncertain: whether it may have been delivered although no answer came. It counts as notified then, so that
  ///     a later change is, too.
  static func giveBack(
    _ batch: Batch, until: Date, isUncertain: Bool, at now: Date, in transaction: SQLiteTransaction
  ) throws {
    let values: [SQLiteValue] = [.text(batch.channel), .text(batch.claim)]
    if isUncertain { try settle("o.channel = ?1 AND o.claim = ?2", values, at: now, in: transaction) }
    try transaction.execute(
      """
      UPDATE outbox SET claim = NULL, claimed_at = NULL, not_before = ?3, begun = begun - ?4
      WHERE channel = ?1 AND claim = ?2
      """, values + [.date(until), .flag(!isUncertain)])
  }

  /// Releases a batch that the server refused for good, to be retried in two halves.
  static func divide(_ batch: Batch, until: Date, in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      """
      UPDATE outbox SET claim = NULL, claimed_at = NULL, not_before = ?3, begun = begun - 1, most = ?4
      WHERE channel = ?1 AND claim = ?2
      """,
      [
        .text(batch.channel), .text(batch.claim), .date(until), .integer(Int64((batch.events.count + 1) / 2)),
      ])
  }
}
