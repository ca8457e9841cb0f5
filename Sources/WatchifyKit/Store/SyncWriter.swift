import CofferSQLite
import Foundation

/// What one read changes, found beside the writer and written in one transaction: all of it, or nothing.
struct SyncWriter: Sendable {
  let id: UUID
  let reading: ShopReading
  let rules: DetectionRules
  let preferences: NotificationPreferences
  let now: Date

  /// What was found, and the state that it was found in.
  struct Prepared: Sendable {
    var store: StoreRecord
    var market: Market
    var changes: ChangeSet
  }

  /// Compares the read with what is stored.
  func prepare(in transaction: some Querying) throws -> Prepared {
    guard let store = try StoreRecord.find(id, in: transaction) else { throw SyncError.storeNotFound }
    let market = Market(country: store.country, currency: reading.currency)
    let stored = try CatalogueRows.load(store: store.no, in: transaction)
    let changes = ChangeDetection.changes(
      from: stored, to: reading, before: store.market, now: market, baseCurrency: store.baseCurrency, rules: rules)
    return Prepared(store: store, market: market, changes: changes)
  }

  /// Writes it; `nil` when the state has changed meanwhile.
  func write(_ prepared: Prepared, in transaction: SQLiteTransaction) throws -> [ChangeEventDTO]? {
    guard let store = try StoreRecord.find(id, in: transaction) else { throw SyncError.storeNotFound }
    guard store.generation == prepared.store.generation else { return nil }
    let currency = reading.currency ?? store.currency
    try CatalogueRows.apply(prepared.changes, store: store.no, currency: currency, at: now, in: transaction)
    var news = prepared.changes.news
    if store.isClosed { news.insert(DetectedChange(type: .storeReopened), at: 0) }
    let events = try EventRows.insert(news, store: store, currency: currency, at: now, in: transaction)
    try OutboxRows.enqueue(events, store: store, preferences, at: now, in: transaction)
    // A read that is not whole is told; its prices hold all the same.
    try transaction.execute(
      """
      UPDATE stores SET last_fetched_at = ?1, currency = ?2, last_error = ?3, is_closed = 0, generation = generation + 1
      WHERE no = ?4
      """,
      [
        .date(now), .optional(currency),
        .optional(reading.isComplete ? nil : reading.incompleteReason ?? "The listing was not read to its end."),
        .integer(store.no),
      ])
    try transaction.execute("DELETE FROM rest WHERE until <= ?1", [.date(now)])
    return events.map(\.event)
  }
}
