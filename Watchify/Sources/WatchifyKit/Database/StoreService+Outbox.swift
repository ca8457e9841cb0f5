import CofferSQLite
import Foundation

/// Access to the outbox of undelivered events.
extension StoreService {
  /// Returns the earliest date at which one of the channels may deliver an event; `nil` if none is in the outbox.
  func nextTurn(of channels: [String]) async throws -> Date? {
    let now = now()
    return try await database.read { try OutboxRows.nextTurn(of: channels, at: now, in: $0) }
  }

  /// Returns whether an event is due for one of the channels.
  func hasNews(for channels: [String]) async throws -> Bool {
    try await nextTurn(of: channels).map { $0 <= now() } ?? false
  }

  /// Claims events for a channel, so that no other process delivers them.
  /// - Parameters:
  ///   - channel: the channel.
  ///   - ids: the identifiers of the events; `nil` for all.
  ///   - ofAllStores: whether the events of all stores are claimed; otherwise those of one.
  ///   - preferences: what is notified.
  /// - Returns: The news; `nil` if nothing is due. What is no longer true or wanted is not in it.
  func claimNews(
    for channel: String, only ids: Set<UUID>? = nil, ofAllStores: Bool = false, _ preferences: NotificationPreferences
  ) async throws -> OutboxRows.Batch? {
    let now = now()
    let rules = try await DetectionRules(from: modelContainer.settings)
    return try await database.write {
      try OutboxRows.claim(channel, only: ids, ofAllStores: ofAllStores, preferences, rules, at: now, in: $0)
    }
  }

  /// Returns the changes that are not in the database.
  func unknown(_ changes: [ChangeEventDTO]) async throws -> [ChangeEventDTO] {
    let known = try await database.read { try EventRows.known(changes.map(\.id), in: $0) }
    return changes.filter { !known.contains($0.id) }
  }

  /// Deletes a delivered batch and records the success, unless the channel was removed in the meantime.
  func finish(_ batch: OutboxRows.Batch, delivered: Bool = true) async throws {
    let now = now()
    try await database.write { transaction in
      let isHeld = try OutboxRows.holds(batch, in: transaction)
      try OutboxRows.finish(batch, delivered: delivered, at: now, in: transaction)
      if delivered, isHeld { try ChannelRows.succeed(batch.channel, at: now, in: transaction) }
    }
  }

  /// Releases an undelivered batch, to be retried after a time, and records the failure. A batch of several events that
  /// the server refuses for good is retried at once in halves, so that the refused event does not hold back the others.
  /// If the channel was removed in the meantime, nothing is recorded of one with the same name.
  func giveBack(_ batch: OutboxRows.Batch, _ error: ChannelError, _ retries: RetryPolicy) async throws {
    let now = now()
    try await database.write { transaction in
      guard try OutboxRows.holds(batch, in: transaction) else { return }
      if error.isAboutMessage {
        let delay = retries.delay(after: 1, error)
        let turn = batch.events.count > 1 ? now : now.addingTimeInterval(delay)
        try OutboxRows.giveBack(batch, isUncertain: false, dividedFrom: turn, at: now, in: transaction)
        return try ChannelRows.refuse(batch.channel, error.reason, at: now, in: transaction, delay: delay)
      }
      try ChannelRows.fail(batch.channel, error.reason, at: now, in: transaction) { retries.delay(after: $0, error) }
      try OutboxRows.giveBack(batch, isUncertain: error.isUncertain, at: now, in: transaction)
    }
  }

  // MARK: Events that were given up

  /// Claims the message about a channel's events that were given up; returns their number, or `nil`.
  func claimMissed(_ channel: String) async throws -> Int? {
    let now = now()
    return try await database.write { try ChannelRows.claimMissed(channel, at: now, in: $0) }
  }

  /// Records that the message about a number of given-up events was delivered.
  func finishMissed(_ channel: String, _ count: Int) async throws {
    let now = now()
    try await database.write { transaction in
      guard try ChannelRows.settleMissed(channel, delivered: count, in: transaction) else { return }
      try ChannelRows.succeed(channel, at: now, in: transaction)
    }
  }

  /// Records that the message about given-up events was not delivered. If it may have been, they are not counted again.
  func giveBackMissed(_ channel: String, _ count: Int, _ error: ChannelError, _ retries: RetryPolicy) async throws {
    let now = now()
    try await database.write { transaction in
      let delivered = error.isUncertain ? count : 0
      guard try ChannelRows.settleMissed(channel, delivered: delivered, in: transaction) else { return }
      if error.isAboutMessage {
        let turn = now.addingTimeInterval(retries.delay(after: 1, error))
        return try ChannelRows.postponeMissed(channel, until: turn, in: transaction)
      }
      try ChannelRows.fail(channel, error.reason, at: now, in: transaction) { retries.delay(after: $0, error) }
    }
  }
}
