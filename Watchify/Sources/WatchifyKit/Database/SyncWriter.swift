import CofferSQLite
import Foundation

/// Applies one read of a store: the changes are computed outside the writer and written in one transaction.
struct SyncWriter: Sendable {
  /// The store as it was when the read began.
  let claimed: StoreRecord
  var reading: ShopReading
  let rules: DetectionRules
  let preferences: NotificationPreferences
  let now: Date

  /// Returns the changes between the stored products and the read.
  func prepare(in transaction: some Querying) throws -> ChangeSet {
    guard let store = try StoreRecord.find(claimed.id, in: transaction) else { throw SyncFailure.storeNotFound }
    let market = Market(country: claimed.country, currency: reading.currency)
    var stored = try CatalogueRows.load(store: store.no, in: transaction)
    // A store that never listed a product has no values of another market: its first products are reported.
    let before = stored.isEmpty ? store.market.map { _ in market } : store.market
    let isSwitch = before.map { !$0.isComparable(to: market) } ?? false
    if isSwitch { try MarketRows.overlay(&stored, store: store.no, market: market, transaction) }
    let renewals = ProductRenewal.renew(&stored, for: reading)
    var changes = ChangeDetection.changes(
      from: stored, to: reading, before: before, now: market, baseCurrency: store.baseCurrency, rules: rules,
      memory: try MarketRows.memory(
        of: store, in: market, isSwitch: isSwitch, renewals: renewals, at: now, transaction))
    changes.renewals = renewals
    // The country was unknown at the first read, so this is not a change of market.
    if changes.isBaseline, before?.country == nil { changes.news = [] }
    return changes
  }

  /// Records that nothing has changed since the last read.
  func confirm(in transaction: SQLiteDatabase.Transaction) throws {
    guard let store = try StoreRecord.find(claimed.id, in: transaction) else { throw SyncFailure.storeNotFound }
    guard store.generation == claimed.generation else { return }
    try transaction.execute(
      "UPDATE stores SET last_fetched_at = ?1, last_error = NULL, generation = generation + 1 WHERE no = ?2",
      [.date(now), .integer(store.no)])
    try RestRows.served(store.domain, at: now, in: transaction)
  }

  /// Writes the changes and returns their events. A read is dropped if the store was written since the read began,
  /// because the stored data is then newer.
  func write(_ changes: ChangeSet, in transaction: SQLiteDatabase.Transaction) throws -> [ChangeEventDTO] {
    guard let store = try StoreRecord.find(claimed.id, in: transaction) else { throw SyncFailure.storeNotFound }
    guard store.generation == claimed.generation else { return [] }
    let currency = reading.currency ?? store.currency
    let market = Market(country: claimed.country, currency: currency)
    try CatalogueRows.renew(changes.renewals, store: store.no, in: transaction)
    let readAt = try changes.leftMarket.flatMap { _ in
      try MarketRows.lastRead(of: market, store: store.no, in: transaction)?.at
    }
    if let left = changes.leftMarket {
      try MarketRows.change(from: left, to: market, store: store.no, at: now, in: transaction)
    }
    let rows = try CatalogueRows.apply(changes, store: store.no, at: now, in: transaction)
    // Wishes come first: their news is delivered before that of the store.
    var news = try judge(changes, rows, store, market, readAt, in: transaction) + changes.news
    if store.isClosed { news.insert(DetectedChange(type: .storeReopened), at: 0) }
    let events = try EventRows.insert(news, store: store, currency: currency, at: now, in: transaction)
    try OutboxRows.enqueue(events, store: store, preferences, at: now, in: transaction)
    try ValidatorRows.keep(reading.isComplete ? reading.validators : [], of: claimed, at: now, in: transaction)
    try MarketRows.remember(reading, changes, market: market, store: store.no, at: now, in: transaction)
    let remark = reading.isComplete ? nil : reading.incompleteReason.map { SyncFailure.incomplete(reason: $0) }
    try transaction.execute(
      """
      UPDATE stores SET last_fetched_at = ?1, currency = ?2, last_error = ?3, read_country = ?5, is_closed = 0,
        generation = generation + 1, nameless = ?6
      WHERE no = ?4
      """,
      [
        .date(now), .optional(currency), .optional(remark?.stored), .integer(store.no),
        .optional(claimed.country), .integer(Int64(changes.nameless)),
      ])
    try RestRows.served(store.domain, at: now, in: transaction)
    return events.map(\.event)
  }

  /// Judges the wishes about the store; returns their news.
  private func judge(
    _ changes: ChangeSet, _ rows: [Int64], _ store: StoreRecord, _ market: Market, _ readAt: Date?,
    in transaction: SQLiteDatabase.Transaction
  ) throws -> [DetectedChange] {
    if changes.leftMarket == nil, let before = store.market {
      try WishJudge.rename(from: before, to: market, store: store.no, in: transaction)
    }
    let arrivals = Set(changes.news.compactMap { $0.type == .newProduct ? $0.productID : nil })
    var judge = WishJudge(
      store: store.no, market: market, rules: rules, returnsFrom: readAt, at: now, in: transaction)
    return try judge.judge(changed: rows, arrivals: arrivals)
  }
}
