import Coffer
import CofferSQLite
public import Foundation

/// Reading stores and telling what changed (document 2).
extension StoreService {
  /// The shortest time between two attempts at one store, in seconds.
  static let minimumInterval: TimeInterval = 60

  /// Reads a store, writes what changed in one transaction, and tells it.
  /// - Returns: The news, in the order in which it was found.
  /// - Throws: ``SyncError``: `rateLimited` within a minute of the last attempt by anybody, `resting` after a refusal.
  ///   What was stored stays; a failure is kept with the store. `StorageError`.
  @discardableResult
  public func syncStore(storeId: UUID) async throws -> [ChangeEventDTO] {
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
    } catch { throw SyncError.from(error) }
  }

  /// Marks the attempt before it is made, so that nobody else makes it too.
  private func claim(_ id: UUID) async throws -> StoreRecord {
    try await refuseRest()
    let now = now()
    return try await database.write { transaction in
      guard var store = try StoreRecord.find(id, in: transaction) else { throw SyncError.storeNotFound }
      if let last = store.lastAttemptAt {
        // A clock that was set back must not lock a store for long.
        let elapsed = now.timeIntervalSince(last)
        guard elapsed < 0 || elapsed >= Self.minimumInterval else {
          throw SyncError.rateLimited(retryAfter: Self.minimumInterval - elapsed)
        }
      }
      try transaction.execute(
        "UPDATE stores SET last_attempt_at = ?1 WHERE no = ?2", [.date(now), .integer(store.no)])
      store.lastAttemptAt = now
      return store
    }
  }

  private func read(_ store: StoreRecord) async throws -> [ChangeEventDTO] {
    var request = request(store.domain, store.country, store.headers)
    request.knownIDs = try await database.read { try CatalogueRows.knownIDs(store: store.no, in: $0) }
    let reading = try await api.read(request)
    let preferences = try await NotificationPreferences(from: modelContainer.settings)
    let rules = try await DetectionRules(from: modelContainer.settings)
    guard reading.isComplete || reading.isLimited else {
      throw SyncError.incomplete(reason: reading.incompleteReason ?? "The listing was not read to its end.")
    }
    let writer = SyncWriter(claimed: store, reading: reading, rules: rules, preferences: preferences, now: now())
    try Task.checkCancellation()
    let prepared = try await database.read { try writer.prepare(in: $0) }
    return try await database.write { try writer.write(prepared, in: $0) }
  }

  // MARK: Failures

  /// Keeps why an attempt failed. Being asked to wait is no failure of the store.
  private func fail(_ store: StoreRecord, _ error: any Error) async throws {
    guard !(error is CancellationError), !(error is StorageError) else { return }
    try await remember(error)
    let sync = SyncError.from(error)
    if case .resting = sync { return }
    if case .rateLimited = sync { return }
    let (now, preferences) = (now(), try await NotificationPreferences(from: modelContainer.settings))
    try await database.write { transaction in
      guard let store = try StoreRecord.find(store.id, in: transaction) else { return }
      try transaction.execute(
        "UPDATE stores SET last_error = ?1 WHERE no = ?2", [.optional(sync.stored), .integer(store.no)])
      guard sync == .passwordProtected, !store.isClosed else { return }
      try transaction.execute("UPDATE stores SET is_closed = 1 WHERE no = ?1", [.integer(store.no)])
      let news = [DetectedChange(type: .storeClosed)]
      let rows = try EventRows.insert(news, store: store, currency: store.currency, at: now, in: transaction)
      try OutboxRows.enqueue(rows, store: store, preferences, at: now, in: transaction)
    }
  }

  /// Keeps a rest that a shop has asked for: it holds for all shops, and after a restart.
  func remember(_ error: any Error) async throws {
    guard case .resting(let until)? = error as? SyncError else { return }
    let (refusals, now) = (Int64((api as? ShopifyClient)?.gate.refusals ?? 1), now())
    try await database.write { transaction in
      try transaction.execute(
        """
        INSERT INTO rest VALUES (1, ?1, ?2)
        ON CONFLICT DO UPDATE SET until = CASE WHEN until > ?3 THEN ?1 ELSE max(until, ?1) END, refusals = ?2
        """, [.date(until), .integer(refusals), .date(now.addingTimeInterval(RequestGate.longestRetryAfter))])
    }
  }

  /// Until when no shop is asked, if that is in the future.
  /// - Throws: `StorageError`.
  public func restingUntil() async throws -> Date? {
    let rest = try await database.read {
      try $0.query("SELECT until, refusals FROM rest", []) { row in
        (until: row.date(0), refusals: Int(row.integer(1)))
      }
    }.first
    // Nobody rests for more than a day; a later end comes from a clock that was set back since.
    let now = now()
    guard let rest, rest.until <= now.addingTimeInterval(RequestGate.longestRetryAfter) else { return nil }
    // A refusal shortly after the last one doubles the rest, also in another process.
    (api as? ShopifyClient)?.gate.restore(until: rest.until, refusals: rest.refusals)
    return rest.until > now ? rest.until : nil
  }

  func refuseRest() async throws {
    if let until = try await restingUntil() { throw SyncError.resting(until: until) }
  }

  // MARK: All stores

  /// Reads all stores, one after another; what fails is kept with its store. Then deletes what is too old.
  public func syncAllStores() async {
    for id in await answer([], { try await self.storeIds() }) {
      guard !Task.isCancelled else { return }
      do { try await syncStore(storeId: id) } catch { note(error) }
      await Task.yield()
    }
    do { try await deleteWhatIsTooOld() } catch { note(error) }
  }
}

extension DetectionRules {
  init(from settings: StorageRouter) async throws {
    readsUntilRemoved = max(1, try await settings.get(StorageKeys.readsUntilRemoved))
    convertedPercent = UInt64(max(0, try await settings.get(StorageKeys.convertedPercent)))
  }
}
