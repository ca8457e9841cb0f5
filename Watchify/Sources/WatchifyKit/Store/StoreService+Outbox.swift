import CofferDatabase
import Foundation

/// What waits to be told, as the rows of the outbox have it.
extension StoreService {
  /// When one of these channels may tell something next; `nil` when nothing waits.
  func nextTurn(of channels: [String]) async throws -> Date? {
    let now = now()
    return try await database.read { try OutboxRows.nextTurn(of: channels, at: now, in: $0) }
  }

  /// Whether these channels have something to tell now.
  func hasNews(for channels: [String]) async throws -> Bool {
    try await nextTurn(of: channels).map { $0 <= now() } ?? false
  }

  /// Takes what waits for a channel, so that nobody else tells it.
  func claimNews(for channel: String) async throws -> OutboxRows.Batch? {
    let now = now()
    return try await database.write { try OutboxRows.claim(channel, at: now, in: $0) }
  }

  /// Removes what was told.
  func finish(_ batch: OutboxRows.Batch) async throws {
    try await database.write { try OutboxRows.finish(batch, in: $0) }
  }

  /// Lets what could not be told wait again.
  func giveBack(_ batch: OutboxRows.Batch, after seconds: Double) async throws {
    let until = now().addingTimeInterval(seconds)
    try await database.write { try OutboxRows.giveBack(batch, until: until, in: $0) }
  }
}
