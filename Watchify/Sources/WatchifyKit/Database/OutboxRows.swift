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

  /// Returns an SQL condition: whether a row `o` of the outbox is in no delivery that can still end. A claim in the
  /// future means that the clock was set back.
  static func isFree(at now: Date) -> String {
    let end = now.milliseconds
    return "(o.claim IS NULL OR o.claimed_at < \(end - Int64(claimLifetime * 1_000)) OR o.claimed_at > \(end))"
  }

  /// Inserts the events that are to be notified.
  static func enqueue(
    _ events: [(row: Int64, event: ChangeEventDTO)], store: StoreRecord, _ preferences: NotificationPreferences,
    at now: Date, in transaction: SQLiteTransaction
  ) throws {
    let waiting = try WaitingNews(of: store.no, at: now, in: transaction)
    var channels = try ChannelRows.names(in: transaction)
    channels += Set(preferences.channels).subtracting(channels.map(\.name)).map { (name: $0, digest: nil) }
    let names = String(decoding: try JSONEncoder().encode(channels.map(\.name)), as: UTF8.self)
    for (row, event) in events {
      let prices = try waiting.withdraw(replacedBy: event)
      let stock = ToldStock(of: event, row: row, store: store.no)
      try stock?.forget(except: names, in: transaction)
      let wish = try WishRows.turn(event, store: store.no, preferences, now, transaction)
      let isWanted = preferences.wants(event)
      for channel in channels {
        let known = prices[channel.name]
        guard isNews(event, known, isWanted: isWanted) else {
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
          [.text(channel.name), .integer(row), .integer(store.no), .date(now), .date(turn), .optional(known?.price)])
      }
    }
  }

  /// Returns whether an event is inserted for a channel. One that replaces undelivered news is, even if it is not
  /// notified by itself: the price at which the news began is only in its row.
  private static func isNews(_ event: ChangeEventDTO, _ known: WaitingNews.KnownPrice?, isWanted: Bool) -> Bool {
    switch known {
    case .price(let base): event.since(base) != nil
    case .inDelivery: true
    case .uncertain, nil: isWanted
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
      guard let turn = events ?? (state.missed > 0 ? state.missedTurn ?? .distantPast : nil) else { return nil }
      return max(turn, state.nextAttempt ?? turn)
    }.min()
  }

  /// Gives up the events that could not be delivered within `lifetime`.
  static func purge(at now: Date, in transaction: SQLiteTransaction) throws {
    try giveUp("o.created_at < ?1", [.date(now.addingTimeInterval(-lifetime))], transaction)
  }

  private static func giveUp(_ condition: String, _ values: [SQLiteValue], _ transaction: SQLiteTransaction) throws {
    let counts = try transaction.query(
      "SELECT o.channel, count(*) FROM outbox AS o WHERE \(condition) GROUP BY 1", values
    ) { (channel: $0.text(0), count: Int($0.integer(1))) }
    guard !counts.isEmpty else { return }
    for (channel, count) in counts { try ChannelRows.miss(count, of: channel, in: transaction) }
    try transaction.execute("DELETE FROM outbox AS o WHERE \(condition)", values)
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
    let isDoubtful = "o.channel = ?1 AND o.begun >= \(deliveries) AND \(isFree(at: now))"
    try ToldStock.settle(isDoubtful, [.text(channel)], isUncertain: true, at: now, in: transaction)
    try giveUp(isDoubtful, [.text(channel)], transaction)
    try OutdatedNews.drop(of: channel, at: now, in: transaction)
    let chosen = EventRows.condition(on: "o.event", isIn: ids)
    let isDue = """
      \(chosen) \(isFree(at: now)) AND (o.not_before <= ?2 OR o.not_before > ?2 + \(Int(longestWait * 1_000)))
      """
    // A wish has its own notification, which the store's other news does not replace.
    let wish = "coalesce((SELECT wish FROM events WHERE row = o.event), '')"
    let waiting = try transaction.query(
      """
      SELECT o.store, \(wish), o.most FROM outbox AS o WHERE o.channel = ?1 AND \(isDue)
      ORDER BY o.most IS NOT NULL, o.event LIMIT 1
      """, [.text(channel), .date(now)]
    ) { (store: $0.integer(0), wish: $0.text(1), most: $0.optionalInteger(2)) }.first
    guard let (store, subject, most) = waiting else { return nil }
    let claim = UUID().uuidString
    try transaction.execute(
      """
      UPDATE outbox SET claim = ?3, claimed_at = ?2, attempts = attempts + 1, begun = begun + 1
      WHERE channel = ?1 AND event IN (
        SELECT o.event FROM outbox AS o
        WHERE o.channel = ?1 AND \(isDue) AND (o.store = ?4 AND \(wish) = ?5 OR ?6) AND o.most IS ?7
        ORDER BY o.event LIMIT coalesce(?7, -1))
      """,
      [
        .text(channel), .date(now), .text(claim), .integer(store), .text(subject), .flag(ofAllStores),
        .optional(most),
      ])
    return Batch(channel: channel, claim: claim, events: try events(of: channel, claim, transaction))
  }

  /// Returns claimed events, with changes of prices since the price that the channel notified last; without those
  /// that restore it.
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
    return events.compactMap { event in
      guard let base = known[event.id] else { return event }
      return event.since(base)
    }
  }

  /// Deletes the rows of a batch.
  /// - Parameter delivered: whether it was delivered; otherwise nothing of it is to be notified.
  static func finish(_ batch: Batch, delivered: Bool, at now: Date, in transaction: SQLiteTransaction) throws {
    let values: [SQLiteValue] = [.text(batch.channel), .text(batch.claim)]
    let isOwn = "o.channel = ?1 AND o.claim = ?2"
    if delivered {
      try transaction.execute(
        "UPDATE events SET notified_at = ?3 WHERE row IN (SELECT o.event FROM outbox AS o WHERE \(isOwn))",
        values + [.date(now)])
    }
    try ToldStock.settle(isOwn, values, isUncertain: false, at: delivered ? now : nil, in: transaction)
    try transaction.execute("DELETE FROM outbox AS o WHERE \(isOwn)", values)
  }

  /// Releases a batch that was not delivered, to be retried from `until` on.
  /// - Parameters:
  ///   - batch: the batch.
  ///   - until: the earliest date of the next attempt.
  ///   - isUncertain: whether it may have been delivered although no answer came.
  ///   - now: the date.
  ///   - transaction: the transaction.
  static func giveBack(
    _ batch: Batch, until: Date, isUncertain: Bool, at now: Date, in transaction: SQLiteTransaction
  ) throws {
    let values: [SQLiteValue] = [.text(batch.channel), .text(batch.claim)]
    if isUncertain {
      try ToldStock.settle(
        "o.channel = ?1 AND o.claim = ?2", values, isUncertain: true, at: now, in: transaction)
    }
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
