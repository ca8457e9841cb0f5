import CofferSQLite
import Foundation

/// The database rows of channels.
enum ChannelRows {
  /// Returns the channels that were added, ordered by name.
  static func all(in transaction: some Querying) throws -> [ChannelDTO] {
    try transaction.query(
      "SELECT id, name, kind, host, options, digest, added_at FROM channels ORDER BY name", []
    ) { row -> ChannelDTO? in
      // A kind that a newer version has added is skipped, and its rows wait.
      guard let id = UUID(uuidString: row.text(0)), let kind = ChannelKind(rawValue: row.text(2)) else { return nil }
      let options = try? JSONDecoder().decode(ChannelOptions.self, from: Data(row.text(4).utf8))
      return ChannelDTO(
        id: id, name: row.text(1), kind: kind, host: row.text(3), options: options ?? ChannelOptions(),
        digest: row.optionalInteger(5).flatMap { DailyTime(minutes: Int($0)) }, addedAt: row.date(6))
    }.compactMap { $0 }
  }

  /// Returns the names of all added channels, with the times of their digests.
  static func names(in transaction: some Querying) throws -> [(name: String, digest: DailyTime?)] {
    try transaction.query("SELECT name, digest FROM channels ORDER BY name", []) {
      (name: $0.text(0), digest: $0.optionalInteger(1).flatMap { DailyTime(minutes: Int($0)) })
    }
  }

  /// Inserts a channel; returns `false` if its name is taken.
  static func insert(_ channel: ChannelDTO, in transaction: SQLiteDatabase.Transaction) throws -> Bool {
    let isTaken = try transaction.query(
      "SELECT EXISTS (SELECT 1 FROM channels WHERE name = ?1)", [.text(channel.name)]
    ) { $0.flag(0) }[0]
    guard !isTaken else { return false }
    // A test that ended after the removal of its channel has left a state.
    try forget(channel.name, in: transaction)
    let options = String(decoding: try JSONEncoder().encode(channel.options), as: UTF8.self)
    try transaction.execute(
      "INSERT INTO channels VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
      [
        .text(channel.id.uuidString), .text(channel.name), .text(channel.kind.rawValue), .text(channel.host),
        .text(options), .optional(channel.digest.map { Int64($0.minutes) }), .date(channel.addedAt),
      ])
    return true
  }

  /// Deletes a channel with its state and its undelivered events; returns it, or `nil` if there is none.
  static func delete(_ name: String, in transaction: SQLiteDatabase.Transaction) throws -> UUID? {
    let id = try transaction.query("DELETE FROM channels WHERE name = ?1 RETURNING id", [.text(name)]) { $0.text(0) }
    guard let id = id.first.flatMap(UUID.init(uuidString:)) else { return nil }
    try forget(name, in: transaction)
    return id
  }

  /// Deletes all that is recorded about the channel of a name.
  private static func forget(_ name: String, in transaction: SQLiteDatabase.Transaction) throws {
    for table in ["outbox", "channel_states", "stock_told", "shown"] {
      try transaction.execute("DELETE FROM \(table) WHERE channel = ?1", [.text(name)])
    }
  }

  // MARK: States

  /// Returns the state of a channel.
  static func state(of channel: String, at now: Date, in transaction: some Querying) throws -> ChannelState {
    let stored = try transaction.query(
      """
      SELECT last_success, last_failure, reason, failures, not_before, missed, missed_not_before, refusals
      FROM channel_states WHERE channel = ?1
      """, [.text(channel)]
    ) { row in
      var state = ChannelState()
      (state.lastSuccess, state.lastFailure) = (row.optionalDate(0), row.optionalDate(1))
      (state.reason, state.failures) = (row.optionalText(2), Int(row.integer(3)))
      let turn = row.date(4)
      // A longer pause means that the clock was set back.
      let end = now.addingTimeInterval(OutboxRows.longestWait)
      state.nextAttempt = turn > now && turn <= end ? turn : nil
      state.missed = Int(row.integer(5))
      state.isRefused = row.integer(7) > mostRefusals
      let missedTurn = row.date(6)
      state.missedTurn = missedTurn > now && missedTurn <= end ? missedTurn : nil
      return state
    }
    var state = stored.first ?? ChannelState()
    state.waiting = try transaction.query(
      "SELECT count(*) FROM outbox WHERE channel = ?1", [.text(channel)]
    ) { Int($0.integer(0)) }[0]
    return state
  }

  /// Records a delivery, which ends the pause after failures.
  static func succeed(_ channel: String, at now: Date, in transaction: SQLiteDatabase.Transaction) throws {
    try transaction.execute(
      """
      INSERT INTO channel_states (channel, last_success) VALUES (?1, ?2)
      ON CONFLICT DO UPDATE SET last_success = ?2, failures = 0, refusals = 0, not_before = 0
      """, [.text(channel), .date(now)])
  }

  /// Records a failure, which begins or prolongs the channel's pause.
  /// - Parameter delay: returns the time until the next attempt, in seconds, from the number of consecutive failures.
  static func fail(
    _ channel: String, _ reason: String, at now: Date, in transaction: SQLiteDatabase.Transaction,
    delay: (Int) -> TimeInterval
  ) throws {
    let failures = try transaction.query(
      """
      INSERT INTO channel_states (channel, last_failure, reason, failures) VALUES (?1, ?2, ?3, 1)
      ON CONFLICT DO UPDATE SET last_failure = ?2, reason = ?3, failures = failures + 1 RETURNING failures
      """, [.text(channel), .date(now), .text(reason)]
    ) { Int($0.integer(0)) }[0]
    let turn = now.addingTimeInterval(min(delay(failures), 86_400))
    try transaction.execute(
      "UPDATE channel_states SET not_before = ?2 WHERE channel = ?1", [.text(channel), .date(turn)])
  }

  /// Records that a message was refused for good. The channel itself seems to work, so it does not pause. After many
  /// refusals in a row the parts of refused messages wait, and only other messages are tried.
  /// - Parameter delay: the time until they are tried again, in seconds.
  static func refuse(
    _ channel: String, _ reason: String, at now: Date, in transaction: SQLiteDatabase.Transaction, delay: TimeInterval
  ) throws {
    let refusals = try transaction.query(
      """
      INSERT INTO channel_states (channel, last_failure, reason, refusals) VALUES (?1, ?2, ?3, 1)
      ON CONFLICT DO UPDATE SET last_failure = ?2, reason = ?3, refusals = refusals + 1 RETURNING refusals
      """, [.text(channel), .date(now), .text(reason)]
    ) { Int($0.integer(0)) }[0]
    guard refusals > mostRefusals else { return }
    try transaction.execute(
      "UPDATE outbox SET not_before = ?2 WHERE channel = ?1 AND most IS NOT NULL AND claim IS NULL",
      [.text(channel), .date(now.addingTimeInterval(delay))])
  }

  /// The number of consecutive refusals up to which refused messages are divided: more than are needed to find the
  /// refused one of 100,000 events by halves.
  static let mostRefusals = 20

  // MARK: Events that were given up

  /// Adds to the number of events that were given up.
  static func miss(_ count: Int, of channel: String, in transaction: SQLiteDatabase.Transaction) throws {
    guard count > 0 else { return }
    try transaction.execute(
      """
      INSERT INTO channel_states (channel, missed) VALUES (?1, ?2)
      ON CONFLICT DO UPDATE SET missed = missed + ?2
      """, [.text(channel), .integer(Int64(count))])
  }

  /// Claims the message about the events that were given up; returns their number, or `nil` if there are none or
  /// another process delivers it.
  static func claimMissed(_ channel: String, at now: Date, in transaction: SQLiteDatabase.Transaction) throws -> Int? {
    try transaction.query(
      """
      UPDATE channel_states SET missed_claimed_at = ?2
      WHERE channel = ?1 AND missed > 0
        AND (missed_claimed_at IS NULL OR missed_claimed_at < ?3 OR missed_claimed_at > ?2)
        AND (not_before <= ?2 OR not_before > ?4) AND (missed_not_before <= ?2 OR missed_not_before > ?4)
      RETURNING missed
      """,
      [
        .text(channel), .date(now), .date(now.addingTimeInterval(-OutboxRows.claimLifetime)),
        .date(now.addingTimeInterval(OutboxRows.longestWait)),
      ]
    ) { Int($0.integer(0)) }.first
  }

  /// Delays the message about the events that were given up, and only that.
  static func postponeMissed(_ channel: String, until turn: Date, in transaction: SQLiteDatabase.Transaction) throws {
    try transaction.execute(
      "UPDATE channel_states SET missed_not_before = ?2 WHERE channel = ?1", [.text(channel), .date(turn)])
  }

  /// Ends a claim: subtracts the events that a delivered message counted. Returns `false` if there is no claim, because
  /// the channel was removed in the meantime.
  static func settleMissed(_ channel: String, delivered: Int, in transaction: SQLiteDatabase.Transaction) throws -> Bool
  {
    try !transaction.query(
      """
      UPDATE channel_states SET missed = max(0, missed - ?2), missed_claimed_at = NULL
      WHERE channel = ?1 AND missed_claimed_at IS NOT NULL RETURNING 1
      """, [.text(channel), .integer(Int64(delivered))]
    ) { $0.integer(0) }.isEmpty
  }
}
