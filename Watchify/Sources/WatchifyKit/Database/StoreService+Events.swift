import CofferSQLite
public import Foundation

/// Event queries and marking events as read.
extension StoreService {
  /// Returns the events that match a filter, newest first.
  /// - Throws: `StorageError`.
  public func events(_ filter: EventFilter, offset: Int = 0, limit: Int = 50) async throws -> [ChangeEventDTO] {
    let (offset, limit) = (max(0, offset), max(0, limit))
    return try await database.read { try EventRows.page(filter, offset: offset, limit: limit, in: $0) }
  }

  /// Returns the number of unread changes that match a filter. Events of one kind and one product in one sync count
  /// once, whatever variants they are about.
  /// - Throws: `StorageError`.
  public func unreadCount(_ filter: EventFilter = EventFilter()) async throws -> Int {
    try await database.read { try EventRows.unreadCount(filter, in: $0) }
  }

  /// Marks the events that match a filter as read.
  /// - Throws: `StorageError`.
  public func markRead(_ filter: EventFilter) async throws {
    try await database.write { try EventRows.markRead(filter, in: $0) }
  }

  /// Marks events as read, together with those of the same kind, product and sync; ``markEventRead(id:)`` marks a
  /// single event. Unknown ids are ignored.
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

  // MARK: Forms that do not throw

  /// Returns events, newest first; none if the database fails.
  public func fetchActivityEvents(
    storeId: UUID?, changeTypes: [ChangeType]?, startDate: Date?, offset: Int, limit: Int
  ) async -> [ChangeEventDTO] {
    let filter = EventFilter(storeId: storeId, changeTypes: changeTypes, startDate: startDate)
    return await answer([]) { try await self.events(filter, offset: offset, limit: limit) }
  }

  /// Returns the unread events, or the newest ones if all are read; none if the database fails.
  public func fetchMenuBarEvents(limit: Int) async -> [ChangeEventDTO] {
    await answer([]) {
      let unread = try await self.events(EventFilter(unreadOnly: true), limit: limit)
      return unread.isEmpty ? try await self.events(EventFilter(), limit: limit) : unread
    }
  }

  /// Returns the number of unread events; 0 if the database fails. ``unreadCount(_:)`` counts changes, of which one may
  /// have several events.
  public func fetchUnreadCount() async -> Int {
    await answer(0) { try await self.database.read { try EventRows.unreadEvents(in: $0) } }
  }

  /// Marks one event as read, and no other. An unknown id is ignored. ``markRead(ids:)`` marks whole changes.
  public func markEventRead(id: UUID) async {
    await answer(()) { try await self.database.write { try EventRows.markRead(id, in: $0) } }
  }

  /// Marks all events as read.
  public func markAllUnreadEventsRead() async { await answer(()) { try await self.markRead(EventFilter()) } }

  func note(_ error: any Error) { lastFailure = error }
  func forgetFailure() { lastFailure = nil }
}
