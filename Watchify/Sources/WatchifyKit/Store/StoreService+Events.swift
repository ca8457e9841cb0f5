import CofferDatabase
public import Foundation

/// Asking for events and marking them (document 2).
extension StoreService {
  /// Events that a filter shows, newest first.
  /// - Throws: `StorageError`.
  public func events(_ filter: EventFilter, offset: Int = 0, limit: Int = 50) async throws -> [ChangeEventDTO] {
    let (offset, limit) = (max(0, offset), max(0, limit))
    return try await database.read { try EventRows.page(filter, offset: offset, limit: limit, in: $0) }
  }

  /// How many unread pieces of news a filter shows: events of one kind and one product in one read are one, whatever
  /// sizes they are about.
  /// - Throws: `StorageError`.
  public func unreadCount(_ filter: EventFilter = EventFilter()) async throws -> Int {
    try await database.read { try EventRows.unreadCount(filter, in: $0) }
  }

  /// Marks what a filter shows, and nothing else, as read.
  /// - Throws: `StorageError`.
  public func markRead(_ filter: EventFilter) async throws {
    try await database.write { try EventRows.markRead(filter, in: $0) }
  }

  /// Marks events as read, together with those of the same piece of news. Unknown ones are no error.
  /// - Throws: `StorageError`.
  public func markRead(ids: [UUID]) async throws {
    try await database.write { transaction in
      for id in ids {
        try transaction.execute(
          """
          UPDATE events SET is_read = 1 WHERE row IN (
            SELECT other.row FROM events AS own CROSS JOIN events AS other ON other.store = own.store
              AND other.product = own.product AND other.at = own.at AND other.type = own.type
            WHERE own.id = ?1
            UNION ALL SELECT row FROM events WHERE id = ?1) AND is_read = 0
          """, [.text(id.uuidString)])
      }
    }
  }

  // MARK: Document 2's forms

  /// Events, newest first; none when the database fails.
  public func fetchActivityEvents(
    storeId: UUID?, changeTypes: [ChangeType]?, startDate: Date?, offset: Int, limit: Int
  ) async -> [ChangeEventDTO] {
    let filter = EventFilter(storeId: storeId, changeTypes: changeTypes, startDate: startDate)
    return await answer([]) { try await self.events(filter, offset: offset, limit: limit) }
  }

  /// The unread events, or the newest ones when all are read.
  public func fetchMenuBarEvents(limit: Int) async -> [ChangeEventDTO] {
    await answer([]) {
      let unread = try await self.events(EventFilter(unreadOnly: true), limit: limit)
      return unread.isEmpty ? try await self.events(EventFilter(), limit: limit) : unread
    }
  }

  /// How many pieces of news nobody has read.
  public func fetchUnreadCount() async -> Int { await answer(0) { try await self.unreadCount() } }

  /// Marks one event as read. An unknown one is no error.
  public func markEventRead(id: UUID) async { await markEventsRead(ids: [id]) }

  /// Marks events as read. Unknown ones are no error.
  public func markEventsRead(ids: [UUID]) async { await answer(()) { try await self.markRead(ids: ids) } }

  /// Marks all events as read.
  public func markAllUnreadEventsRead() async { await answer(()) { try await self.markRead(EventFilter()) } }

  func note(_ error: any Error) { lastFailure = error }
  func forgetFailure() { lastFailure = nil }
}
