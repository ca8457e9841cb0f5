import CofferRouter
import CofferSQLite
public import Foundation
import WatchifyCShims

/// Syncing of stores.
extension StoreService {
  /// The minimum time between two sync attempts of a store, in seconds.
  static let minimumInterval: TimeInterval = 60

  /// Syncs a store as ``sync(_:)`` does, but throws a ``SyncError`` in place of a ``SyncFailure``.
  @discardableResult
  public func syncStore(storeId: UUID) async throws -> [ChangeEventDTO] {
    do { return try await sync(storeId) } catch let failure as SyncFailure { throw failure.error }
  }

  /// Syncs a store: reads it, and writes the changes in one transaction.
  /// - Returns: The events of the changes, in the order in which they were found.
  /// - Throws: ``SyncFailure``: `rateLimited` within a minute of the last attempt by any process, `resting` during a
  ///   pause. `StorageError`, `CancellationError`. The stored data is unchanged then; a failure is recorded with the
  ///   store.
  @discardableResult
  public func sync(_ storeId: UUID) async throws -> [ChangeEventDTO] {
    do {
      let store = try await claim(storeId)
      syncing[storeId, default: 0] += 1
      defer { syncing[storeId] = syncing[storeId].flatMap { $0 > 1 ? $0 - 1 : nil } }
      do { return try await read(store) } catch {
        try await uninterrupted { try await self.fail(store, error) }
        throw error
      }
    } catch let error as StorageError {
      throw error
    } catch let error as CancellationError {
      throw error
    } catch { throw SyncFailure.from(error) }
  }

  /// Records the attempt before it is made, so that no other process makes it too.
  private func claim(_ id: UUID) async throws -> StoreRecord {
    let rests = try await rests()
    let now = now()
    return try await database.write { transaction in
      guard var store = try StoreRecord.find(id, in: transaction) else { throw SyncFailure.storeNotFound }
      try Self.refuse(rests, store.domain)
      if let last = store.lastAttemptAt {
        // A clock that was set back must not block a store for long.
        let elapsed = now.timeIntervalSince(last)
        guard elapsed < 0 || elapsed >= Self.minimumInterval else {
          throw SyncFailure.rateLimited(retryAfter: Self.minimumInterval - elapsed)
        }
      }
      try transaction.execute(
        "UPDATE stores SET last_attempt_at = ?1 WHERE no = ?2", [.date(now), .integer(store.no)])
      store.lastAttemptAt = now
      return store
    }
  }

  private func read(_ store: StoreRecord) async throws -> [ChangeEventDTO] {
    if store.baseCurrency == nil { try await askForCurrency(of: store) }
    var request = request(store.domain, store.country, store.headers)
    request.currency = store.currency
    let now = now()
    (request.knownIDs, request.validators) = try await database.read { transaction in
      (
        try CatalogueRows.knownIDs(store: store.no, in: transaction),
        try ValidatorRows.usable(for: store, at: now, in: transaction)
      )
    }
    var reading = try await api.read(request)
    let preferences = try await NotificationPreferences(from: modelContainer.settings)
    let rules = try await DetectionRules(from: modelContainer.settings)
    guard reading.isComplete || reading.isLimited else {
      throw SyncFailure.incomplete(reason: reading.incompleteReason ?? "The listing was not read to its end.")
    }
    var writer = SyncWriter(claimed: store, reading: reading, rules: rules, preferences: preferences, now: self.now())
    try Task.checkCancellation()
    if reading.isUnchanged {
      try await database.write { [writer] in try writer.confirm(in: $0) }
      return []
    }
    let prepared = try await database.read { [writer] in try writer.prepare(in: $0) }
    // For a large store, memory of the comparison is released before writing; the allocator would keep it per thread.
    let isLarge = reading.products.count > 5_000 || reading.bytes > 8 << 20
    (reading.products, writer.reading.products) = ([], [])
    if isLarge { watchify_trim_memory() }
    return try await database.write { [writer] in try writer.write(prepared, in: $0) }
  }

  /// Requests the base currency of a shop again: after a minute, then with doubled delays up to a day.
  private func askForCurrency(of store: StoreRecord) async throws {
    let now = now()
    let wait = min(86_400, 60 * pow(2, Double(min(store.metaAttempts, 20))))
    if let last = store.metaAskedAt, (0..<wait).contains(now.timeIntervalSince(last)) { return }
    var currency: String?
    do { currency = try await api.describe(request(store.domain, store.country, store.headers)).currency } catch {
      // Prices can be read without it, but a pause applies to all requests.
      if case .invalidResponse(.resting)? = error as? SyncFailure { throw error }
      if error is CancellationError { throw error }
    }
    try await database.write { [currency] transaction in
      try transaction.execute(
        """
        UPDATE stores SET base_currency = coalesce(base_currency, ?2), meta_asked_at = ?3,
          meta_attempts = meta_attempts + 1
        WHERE no = ?1
        """, [.integer(store.no), .optional(currency), .date(now)])
    }
  }

  // MARK: Failures

  /// Records the error of an attempt with its store. `resting` and `rateLimited` are no failures of the store.
  private func fail(_ store: StoreRecord, _ error: any Error) async throws {
    guard !(error is CancellationError), !(error is StorageError) else { return }
    try await remember(error)
    let failure = SyncFailure.from(error)
    if case .invalidResponse(.resting) = failure { return }
    if case .rateLimited = failure { return }
    let (now, preferences) = (now(), try await NotificationPreferences(from: modelContainer.settings))
    try await database.write { transaction in
      guard let store = try StoreRecord.find(store.id, in: transaction) else { return }
      try transaction.execute(
        "UPDATE stores SET last_error = ?1 WHERE no = ?2", [.optional(failure.stored), .integer(store.no)])
      guard failure == .passwordProtected, !store.isClosed else { return }
      try transaction.execute("UPDATE stores SET is_closed = 1 WHERE no = ?1", [.integer(store.no)])
      let news = [DetectedChange(type: .storeClosed)]
      let rows = try EventRows.insert(news, store: store, currency: store.currency, at: now, in: transaction)
      try OutboxRows.enqueue(rows, store: store, preferences, at: now, in: transaction)
    }
  }

  // MARK: All stores

  /// Syncs all stores, one after another, then deletes expired history. A failure is recorded with its store.
  public func syncAllStores() async {
    for id in await answer([], { try await self.storeIds() }) {
      guard !Task.isCancelled else { return }
      do { try await sync(id) } catch { note(error) }
      await Task.yield()
    }
    do { try await deleteWhatIsTooOld() } catch { note(error) }
  }
}

extension DetectionRules {
  init(from settings: StorageRouter) async throws {
    readsUntilRemoved = max(1, try await settings.get(StorageKeys.syncsUntilRemoved))
    convertedPercent = UInt64(max(0, try await settings.get(StorageKeys.convertedPercent)))
  }
}
