import CofferSQLite
import Foundation

/// What one read changes, found beside the writer and written in one transaction: all of it, or nothing.
struct SyncWriter: Sendable {
  /// The store as it was when its reading began.
  let claimed: StoreRecord
  let reading: ShopReading
  let rules: DetectionRules
  let preferences: NotificationPreferences
  let now: Date

  /// Compares the read with what is stored.
  func prepare(in transaction: some Querying) throws -> ChangeSet {
    guard let store = try StoreRecord.find(claimed.id, in: transaction) else { throw SyncError.storeNotFound }
    let market = Market(country: claimed.country, currency: reading.currency)
    let stored = try CatalogueRows.load(store: store.no, in: transaction)
    return ChangeDetection.changes(
      from: stored, to: reading, before: store.market, now: market, baseCurrency: store.baseCurrency, rules: rules)
  }

  /// Writes what was found. A read that was overtaken, because somebody else has begun later and ended sooner, is older
  /// than what is stored: it is dropped.
  func write(_ changes: ChangeSet, in transaction: SQLiteTransaction) throws -> [ChangeEventDTO] {
    guard let store = try StoreRecord.find(claimed.id, in: transaction) else { throw SyncError.storeNotFound }
    guard store.generation == claimed.generation else { return [] }
    let currency = reading.currency ?? store.currency
    try CatalogueRows.apply(changes, store: store.no, at: now, in: transaction)
    var news = changes.news
    if store.isClosed { news.insert(DetectedChange(type: .storeReopened), at: 0) }
    let events = try EventRows.insert(news, store: store, currency: currency, at: now, in: transaction)
    try OutboxRows.enqueue(events, store: store, preferences, at: now, in: transaction)
    let remark = reading.isComplete ? nil : reading.incompleteReason.map { SyncError.incomplete(reason: $0) }
    try transaction.execute(
      """
      UPDATE stores SET last_fetched_at = ?1, currency = ?2, last_error = ?3, read_country = ?5, is_closed = 0,
        generation = generation + 1
      WHERE no = ?4
      """,
      [
        .date(now), .optional(currency), .optional(remark?.stored), .integer(store.no),
        .optional(claimed.country),
      ])
    try transaction.execute("DELETE FROM rest WHERE until <= ?1", [.date(now)])
    return events.map(\.event)
  }
}
