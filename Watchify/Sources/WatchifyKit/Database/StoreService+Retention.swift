import CofferRouter
import CofferSQLite
public import Foundation

/// Deletion of old events and snapshots.
extension StoreService {
  /// Deletes expired events and snapshots, each if its setting is on, and expired outbox entries.
  /// - Throws: `StorageError`.
  public func deleteWhatIsTooOld() async throws {
    let now = now()
    try await database.write { try OutboxRows.purge(at: now, in: $0) }
    let settings = modelContainer.settings
    if try await settings.get(StorageKeys.autoDeleteEvents) {
      let days = try await settings.get(StorageKeys.eventRetentionDays)
      if days > 0 { try await deleteOldEvents(olderThan: now.addingTimeInterval(-86_400 * Double(days))) }
    }
    if try await settings.get(StorageKeys.autoDeleteSnapshots) {
      let days = try await settings.get(StorageKeys.snapshotRetentionDays)
      if days > 0 { try await deleteOldSnapshots(olderThan: now.addingTimeInterval(-86_400 * Double(days))) }
    }
  }

  /// Deletes the events before a date, except for undelivered ones and those that are counted as one with them.
  /// - Throws: `StorageError`.
  public func deleteOldEvents(olderThan date: Date) async throws {
    try await database.write { transaction in
      // Undelivered events are kept with all that are counted as one with them, since only the first is counted.
      try transaction.execute(
        """
        DELETE FROM events WHERE at < ?1 AND row NOT IN (SELECT event FROM outbox)
          AND (product IS NULL OR (store, at, type, product) NOT IN (
            SELECT store, at, type, product FROM events
            WHERE row IN (SELECT event FROM outbox) AND product IS NOT NULL))
        """, [.date(date)])
    }
  }

  /// Deletes the snapshots before a date, except for the last one of each variant and currency, which has the
  /// values valid at that date, and for those since the oldest wish for a percentage, which is judged by the prices at
  /// that time.
  /// - Throws: `StorageError`.
  public func deleteOldSnapshots(olderThan date: Date) async throws {
    try await database.write { transaction in
      let date = min(date, try WishRows.oldestBase(in: transaction) ?? date)
      try transaction.execute(
        """
        DELETE FROM snapshots WHERE at < ?1 AND EXISTS (
          SELECT 1 FROM snapshots AS later WHERE later.product = snapshots.product
            AND later.variant = snapshots.variant AND later.currency IS snapshots.currency
            AND later.at > snapshots.at AND later.at <= ?1)
        """, [.date(date)])
    }
  }

  /// Returns the number of snapshots of all stores.
  /// - Throws: `StorageError`.
  public func snapshotCount() async throws -> Int {
    try await database.read { try $0.query("SELECT count(*) FROM snapshots", []) { Int($0.integer(0)) }[0] }
  }
}
