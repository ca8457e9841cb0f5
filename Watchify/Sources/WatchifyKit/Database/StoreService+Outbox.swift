import CofferDatabase
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
  /// - Parameter only: the identifiers of the events; `nil` for all.
  func claimNews(for channel: String, only ids: Set<UUID>? = nil) async throws -> OutboxRows.Batch? {
    let now = now()
    return try await database.write { try OutboxRows.claim(channel, only: ids, at: now, in: $0) }
  }

  /// Returns the changes that are not in the database.
  func unknown(_ changes: [ChangeEventDTO]) async throws -> [ChangeEventDTO] {
    let known = try await database.read { try EventRows.known(changes.map(\.id), in: $0) }
    return changes.filter { !known.contains($0.id) }
  }

  /// Deletes a delivered batch.
  func finish(_ batch: OutboxRows.Batch) async throws {
    try await database.write { try OutboxRows.finish(batch, in: $0) }
  }

  /// Releases an undelivered batch, to be retried after a time.
  func giveBack(_ batch: OutboxRows.Batch, after seconds: Double) async throws {
    let until = now().addingTimeInterval(seconds)
    try await database.write { try OutboxRows.giveBack(batch, until: until, in: $0) }
  }
}
