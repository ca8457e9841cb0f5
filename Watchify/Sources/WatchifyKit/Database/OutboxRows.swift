import CofferSQLite
import Foundation

/// The outbox: the events that are still to be delivered by each channel. Rows are written in the transaction of their
/// events, so no event is lost, and deleted after delivery.
///
/// A process may end between a delivery and its record, and a server may accept a message without an answer. Such an
/// event is delivered a second time, and never a third time: after two deliveries with an unknown outcome, like after
/// ``lifetime`` and further failures, it is given up and counted, and the channel's next message states the count.
enum OutboxRows {
  /// The news that a channel is about to deliver.
  struct Batch: Sendable {
    var channel: String
    var claim: String
    var claimedAt: Date
    /// What is true and wanted of the claimed events; the others are deleted with them.
    var events: [ChangeEventDTO]
    /// The rows of the events that the news covers.
    var rows: [Int64]
  }

  /// The time after which a claim expires, in seconds: its process is taken to have ended, and another one may claim
  /// the events. Longer than the deadline of any delivery.
  static let claimLifetime: TimeInterval = 60
  /// The time after which undelivered events are given up once further deliveries of them fail, in seconds; longer than
  /// any quiet hours and two of the longest intervals.
  static let lifetime: TimeInterval = 3 * 24 * 3_600
  /// The time after which all undelivered events are given up, in seconds: of a device that was off, or of a channel
  /// that is not used any more. Twice the time from a weekly sync to the next digest.
  static let longestLifetime: TimeInterval = 16 * 24 * 3_600
  /// The number of failed deliveries after `lifetime` from which an event is given up: more than while a device wakes.
  private static let failures = 3
  /// The maximum delay of a row, in seconds: the longest stock quiet hours and the time until the digest after them. A
  /// longer one means that the clock was set back, and is ignored.
  static let longestWait: TimeInterval = 50 * 3_600
  /// The number of deliveries with an unknown outcome after which an event is given up.
  private static let deliveries = 2

  /// Returns an SQL condition: whether a row `o` of the outbox is in no delivery that can still end. A claim in the
  /// future means that the clock was set back.
  private static func isFree(at now: Date, _ row: String = "o") -> String {
    let end = now.milliseconds
    let start = end - Int64(claimLifetime * 1_000)
    return "(\(row).claim IS NULL OR \(row).claimed_at < \(start) OR \(row).claimed_at > \(end))"
  }

  /// Inserts the events that are to be notified. One that follows undelivered events about the same is inserted even if
  /// it is not notified by itself: what is true, and what is news, is judged at the delivery. All of them are delivered
  /// at the earliest of their turns, so a newer one never delays those that wait.
  static func enqueue(
    _ events: [(row: Int64, event: ChangeEventDTO)], store: StoreRecord, _ preferences: NotificationPreferences,
    at now: Date, in transaction: SQLiteDatabase.Transaction
  ) throws {
    // Usual, and saves a query for each event.
    let isEmpty = try transaction.query(
      "SELECT NOT EXISTS (SELECT 1 FROM outbox WHERE store = ?1)", [.integer(store.no)]
    ) { $0.flag(0) }[0]
    var channels = try ChannelRows.names(in: transaction)
    channels += Set(preferences.channels).subtracting(channels.map(\.name)).map { (name: $0, digest: nil) }
    for (row, event) in events {
      let subject = NewsSubject(of: event, store: store.no)
      let waiting = try isEmpty ? [] : subject.map { try Self.waiting(about: $0, in: transaction) } ?? []
      let wish = try WishRows.turn(event, store: store.no, preferences, now, transaction)
      let isWanted = preferences.wants(event)
      for channel in channels where isWanted || waiting.contains(channel.name) {
        var notBefore = wish ?? .distantPast
        if let subject, subject.kind == .stock {
          notBefore = try ToldStock.turn(subject, channel.name, preferences, at: now, in: transaction)
        }
        let turn = SQLiteValue.date(channel.digest?.next(after: max(now, notBefore)) ?? notBefore)
        try transaction.execute(
          "INSERT INTO outbox (channel, event, store, created_at, not_before) VALUES (?1, ?2, ?3, ?4, ?5)",
          [.text(channel.name), .integer(row), .integer(store.no), .date(now), turn])
      }
    }
  }

  /// Returns the channels with undelivered events about a subject.
  private static func waiting(about subject: NewsSubject, in transaction: SQLiteDatabase.Transaction) throws -> [String]
  {
    try transaction.query(
      "SELECT DISTINCT o.channel FROM events AS e CROSS JOIN outbox AS o ON o.event = e.row WHERE \(subject.condition)",
      subject.values
    ) { $0.text(0) }
  }

  /// Returns the earliest date at which a channel may deliver something; `nil` if there is nothing to deliver.
  static func nextTurn(of channels: [String], at now: Date, in transaction: some Querying) throws -> Date? {
    let end = SQLiteValue.date(now.addingTimeInterval(longestWait))
    return try channels.compactMap { channel -> Date? in
      let events = try transaction.query(
        "SELECT min(CASE WHEN not_before > ?2 THEN 0 ELSE not_before END) FROM outbox WHERE channel = ?1",
        [.text(channel), end]
      ) { $0.optionalDate(0) }[0]
      let state = try ChannelRows.state(of: channel, at: now, in: transaction)
      let missed = state.missed > 0 ? state.missedTurn ?? .distantPast : nil
      guard let turn = [events, missed].compactMap({ $0 }).min() else { return nil }
      return max(turn, state.nextAttempt ?? turn)
    }.min()
  }

  /// Gives up the events whose deliveries failed after `lifetime`. Others wait for `longestLifetime`: a device that is
  /// off delivers nothing, and a failure before it was off says nothing about now.
  static func purge(at now: Date, in transaction: SQLiteDatabase.Transaction) throws {
    try giveUp(
      """
      \(isFree(at: now)) AND (o.created_at < ?1 OR o.late_failures >= \(failures))
      """, [.date(now.addingTimeInterval(-longestLifetime))], transaction)
  }

  private static func giveUp(_ condition: String, _ values: [SQLiteValue], _ transaction: SQLiteDatabase.Transaction)
    throws
  {
    let counts = try transaction.query(
      "SELECT o.channel, count(*) FROM outbox AS o WHERE \(condition) GROUP BY 1", values
    ) { (channel: $0.text(0), count: Int($0.integer(1))) }
    guard !counts.isEmpty else { return }
    for (channel, count) in counts { try ChannelRows.miss(count, of: channel, in: transaction) }
    try transaction.execute("DELETE FROM outbox AS o WHERE \(condition)", values)
  }

  // MARK: Claims

  /// Claims the events that are due for a channel; `nil` if none are, or if the channel pauses after a failure. No
  /// other process can claim them until the claim expires, nor other events about the same products: news about one
  /// product is delivered in order.
  /// - Parameters:
  ///   - channel: the channel.
  ///   - ids: the events to claim, with others about the same; `nil` for all.
  ///   - ofAllStores: whether the events of all stores are claimed; otherwise those of one.
  ///   - preferences: what is notified.
  ///   - rules: when a variant counts as removed.
  ///   - now: the date.
  ///   - transaction: the transaction.
  static func claim(
    _ channel: String, only ids: Set<UUID>? = nil, ofAllStores: Bool = false, _ preferences: NotificationPreferences,
    _ rules: DetectionRules, at now: Date, in transaction: SQLiteDatabase.Transaction
  ) throws -> Batch? {
    try purge(at: now, in: transaction)
    guard try ChannelRows.state(of: channel, at: now, in: transaction).nextAttempt == nil else { return nil }
    try giveUp("o.channel = ?1 AND o.begun >= \(deliveries) AND \(isFree(at: now))", [.text(channel)], transaction)
    let isDue = try dueCondition(channel, ids, at: now, in: transaction)
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
      UPDATE outbox SET claim = ?3, claimed_at = ?2, begun = begun + 1
      WHERE channel = ?1 AND event IN (
        SELECT o.event FROM outbox AS o
        WHERE o.channel = ?1 AND \(isDue) AND (o.store = ?4 AND \(wish) = ?5 OR ?6) AND o.most IS ?7
        ORDER BY o.event LIMIT coalesce(?7, -1))
      """,
      [
        .text(channel), .date(now), .text(claim), .integer(store), .text(subject), .flag(ofAllStores),
        .optional(most),
      ])
    try extend(claim, of: channel, at: now, in: transaction)
    let news = try NewsJudge(channel, preferences, rules, in: transaction).news(of: claim, at: now)
    return Batch(channel: channel, claim: claim, claimedAt: now, events: news.events, rows: news.rows)
  }

  /// Returns an SQL condition for the rows `o` of a channel that may be delivered; ?1 is the channel, ?2 the date.
  private static func dueCondition(
    _ channel: String, _ ids: Set<UUID>?, at now: Date, in transaction: SQLiteDatabase.Transaction
  ) throws -> String {
    var conditions = [isFree(at: now), "(o.not_before <= ?2 OR o.not_before > ?2 + \(Int(longestWait * 1_000)))"]
    if let ids { conditions.append("o.event IN (\(EventRows.rows(of: ids)))") }
    let isDelivering = try transaction.query(
      "SELECT EXISTS (SELECT 1 FROM outbox AS o WHERE o.channel = ?1 AND NOT \(isFree(at: now)))", [.text(channel)]
    ) { $0.flag(0) }[0]
    if isDelivering {
      conditions.append(
        """
        NOT EXISTS (
          SELECT 1 FROM events AS own CROSS JOIN events AS e ON e.store = own.store AND e.product = own.product
          CROSS JOIN outbox AS p ON p.event = e.row AND p.channel = o.channel
          WHERE own.row = o.event AND NOT \(isFree(at: now, "p")))
        """)
    }
    return conditions.joined(separator: " AND ")
  }

  /// Claims the other events about the subjects of claimed ones, due or not, since they are judged together.
  private static func extend(
    _ claim: String, of channel: String, at now: Date, in transaction: SQLiteDatabase.Transaction
  ) throws {
    let isRest = try transaction.query(
      "SELECT EXISTS (SELECT 1 FROM outbox AS o WHERE o.channel = ?1 AND o.claim IS NOT ?2 AND \(isFree(at: now)))",
      [.text(channel), .text(claim)]
    ) { $0.flag(0) }[0]
    guard isRest else { return }
    for subject in try NewsJudge.claimed(claim, by: channel, in: transaction).compactMap(\.subject) {
      try transaction.execute(
        """
        UPDATE outbox AS o SET claim = ?6, claimed_at = ?7, begun = begun + 1
        WHERE channel = ?5 AND claim IS NOT ?6 AND \(isFree(at: now))
          AND event IN (SELECT e.row FROM events AS e WHERE \(subject.condition))
        """, subject.values + [.text(channel), .text(claim), .date(now)])
    }
  }

  /// Whether a batch is still claimed: neither its channel was removed, nor has its claim expired and been taken over.
  static func holds(_ batch: Batch, in transaction: SQLiteDatabase.Transaction) throws -> Bool {
    try transaction.query(
      "SELECT EXISTS (SELECT 1 FROM outbox WHERE channel = ?1 AND claim = ?2)",
      [.text(batch.channel), .text(batch.claim)]
    ) { $0.flag(0) }[0]
  }

  /// Deletes the rows of a batch.
  /// - Parameter delivered: whether it was delivered; otherwise nothing of it is news.
  static func finish(_ batch: Batch, delivered: Bool, at now: Date, in transaction: SQLiteDatabase.Transaction) throws {
    if delivered {
      let rows = String(decoding: try JSONEncoder().encode(batch.rows), as: UTF8.self)
      try transaction.execute(
        "UPDATE events SET notified_at = ?2 WHERE row IN (SELECT value FROM json_each(?1))", [.text(rows), .date(now)])
    } else {
      try ToldStock.end(batch, in: transaction)
    }
    try transaction.execute(
      "DELETE FROM outbox WHERE channel = ?1 AND claim = ?2", [.text(batch.channel), .text(batch.claim)])
  }

  /// Releases a batch that was not delivered, to be retried at the end of the channel's pause.
  /// - Parameters:
  ///   - batch: the batch.
  ///   - isUncertain: whether it may have been delivered although no answer came.
  ///   - division: if the server refuses the batch for good, the date from which it is retried in two halves.
  ///   - now: the date.
  ///   - transaction: the transaction.
  static func giveBack(
    _ batch: Batch, isUncertain: Bool, dividedFrom division: Date? = nil, at now: Date,
    in transaction: SQLiteDatabase.Transaction
  ) throws {
    if !isUncertain { try ToldStock.end(batch, in: transaction) }
    // Which of several events was refused is unknown.
    let isAboutEach = division == nil || batch.events.count < 2
    let most = division.map { _ in Int64((batch.events.count + 1) / 2) }
    try transaction.execute(
      """
      UPDATE outbox SET claim = NULL, claimed_at = NULL, not_before = coalesce(?3, not_before), begun = begun - ?4,
        most = coalesce(?5, most), late_failures = late_failures + (created_at < ?6 AND ?7)
      WHERE channel = ?1 AND claim = ?2
      """,
      [
        .text(batch.channel), .text(batch.claim), .optional(division?.milliseconds), .flag(!isUncertain),
        .optional(most), .date(now.addingTimeInterval(-lifetime)), .flag(isAboutEach),
      ])
  }

  /// Makes the parts of messages that the server of a channel refused due.
  static func release(_ channel: String, in transaction: SQLiteDatabase.Transaction) throws {
    try transaction.execute(
      "UPDATE outbox SET not_before = 0 WHERE channel = ?1 AND most IS NOT NULL", [.text(channel)])
  }
}
