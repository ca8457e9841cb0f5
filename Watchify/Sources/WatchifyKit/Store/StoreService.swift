import CofferDatabase
import CofferLocks
public import Foundation

/// The followed stores and everything known of them (document 2).
///
/// ```swift
/// let service = await StoreService.makeBackground(container: container)
/// let store = try await service.addStore(name: nil, domain: "allbirds.com")
/// let news = try await service.syncStore(storeId: store)
/// ```
///
/// Its code runs on a thread of its own, beside the main thread and beside those that tasks share. What it returns are
/// values. Queries that the document has without `throws` give an empty answer when the database fails; the failure is
/// in ``lastFailure``, and every one of them has a throwing form.
public actor StoreService: ModelActor {
  private static let singleton = Locked<StoreService?>(nil)

  /// The service of the application, once somebody has set it.
  public static var shared: StoreService! {
    get { singleton.withLock { $0 } }
    set { singleton.withLock { $0 = newValue } }
  }

  /// The thread that its code runs on.
  public nonisolated let modelExecutor: any ModelExecutor
  /// Where it keeps everything.
  public nonisolated let modelContainer: ModelContainer
  /// Where products come from.
  public nonisolated let api: any ShopifyAPIProtocol
  /// The same thread, as Swift asks for it.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { modelExecutor.asUnownedSerialExecutor() }

  /// Why a query without `throws` had an empty answer last.
  public internal(set) var lastFailure: (any Error)?
  /// The stores that are being read, and how often.
  var syncing: [UUID: Int] = [:]
  nonisolated let now: @Sendable () -> Date
  nonisolated var database: SQLiteDatabase { modelContainer.database }

  private init(_ container: ModelContainer, _ api: any ShopifyAPIProtocol, _ now: @escaping @Sendable () -> Date) {
    modelContainer = container
    modelExecutor = QueueExecutor(label: "watchify.model")
    self.api = api
    self.now = now
  }

  /// A service on threads of its own.
  /// - Parameters:
  ///   - container: where it keeps everything.
  ///   - api: where products come from; the shops themselves unless given.
  ///   - now: the clock.
  @concurrent
  public static func makeBackground(
    container: ModelContainer, api: (any ShopifyAPIProtocol)? = nil, now: @escaping @Sendable () -> Date = { Date() }
  ) async -> StoreService {
    StoreService(container, api ?? ShopifyClient(), now)
  }

  // MARK: Stores

  /// Follows a store: asks what it is, reads all its products and keeps them. What is already there is no news.
  /// - Parameters:
  ///   - name: what to call it; what it calls itself, or the first part of its address (all of a numeric one), unless
  ///     given.
  ///   - domain: its address, as anybody would paste it.
  ///   - country: the market to ask for, as an ISO 3166 code; the store's own unless given.
  ///   - headers: further headers that it is asked with, at this address alone: they are not kept for a store that
  ///     lists its products at its address inside Shopify only.
  ///   - progress: told of the products so far and of the page's number.
  /// - Returns: The store's id.
  /// - Throws: ``SyncError``, ``WatchifyError``, `StorageError`. Nothing was kept then.
  public func addStore(
    name: String?, domain: String, country: String? = nil, headers: [StoreHeader] = [],
    progress: (@Sendable (_ products: Int, _ page: Int) -> Void)? = nil
  ) async throws -> UUID {
    let address = try ShopAddress(domain)
    try await refuseRest(address.domain)
    try await refuseKnown([address.domain])
    var request = request(address.domain, country, headers)
    do {
      var shop = try await api.describe(request)
      // Whoever describes a shop may say anything: only an address inside Shopify is believed.
      shop.shopifyDomain = shop.shopifyDomain.flatMap { ShopAddress.insideShopify($0) }
      try await refuseKnown([address.domain, shop.shopifyDomain])
      // Without a country the shop would guess one from where it is asked, another one on a journey.
      request.country = country ?? shop.country ?? HomeMarket.country(of: shop.currency)
      request.progress = progress
      let reading: ShopReading
      do { reading = try await api.read(request) } catch SyncError.notShopify {
        // A front of the shop's own may serve pages only; inside Shopify it has an address that lists.
        guard let inside = shop.shopifyDomain, inside != address.domain else { throw SyncError.notShopify }
        // What lets a reader in at one host is nobody else's business.
        (request.domain, request.headers) = (inside, [])
        reading = try await api.read(request)
      }
      let pinned = request.country ?? HomeMarket.country(of: reading.currency)
      return try await insert(
        name ?? shop.name, request, shop, reading, pinned, request.domain == address.domain ? headers : [])
    } catch {
      try await uninterrupted { try await self.remember(error) }
      throw error
    }
  }

  /// Changes what a store is called, or how it is asked; what is `nil` stays. Another country is another market: the
  /// next read takes everything as it is there.
  /// - Throws: ``SyncError/storeNotFound``, `StorageError`.
  public func updateStore(
    id: UUID, name: String? = nil, country: String? = nil, headers: [StoreHeader]? = nil
  ) async throws {
    let encoded = try headers.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
    try await database.write { transaction in
      guard let store = try StoreRecord.find(id, in: transaction) else { throw SyncError.storeNotFound }
      try transaction.execute(
        """
        UPDATE stores SET name = coalesce(?2, name), country = coalesce(?3, country), headers = coalesce(?4, headers),
          generation = generation + 1
        WHERE no = ?1
        """, [.integer(store.no), .optional(name), .optional(country), .optional(encoded)])
      // Whoever is asked otherwise may show something else.
      if country != nil || headers != nil { try ValidatorRows.forget(store.no, in: transaction) }
    }
  }

  private func insert(
    _ name: String?, _ request: ShopRequest, _ shop: ShopDescription, _ reading: ShopReading, _ country: String?,
    _ headers: [StoreHeader]
  ) async throws -> UUID {
    let (id, now, domain, readCountry) = (UUID(), now(), request.domain, request.country)
    let name = Self.name(name, domain)
    let headers = String(decoding: try JSONEncoder().encode(headers), as: UTF8.self)
    // A shop that is empty now is followed; one that broke off would make news of all that it still has.
    guard reading.isComplete || reading.isLimited || reading.products.isEmpty else {
      throw SyncError.incomplete(reason: reading.incompleteReason ?? "The listing was not read to its end.")
    }
    // What was read without a country is of no country's market: the first read for one begins anew.
    let market = Market(country: readCountry, currency: reading.currency)
    let remark = reading.isComplete ? nil : reading.incompleteReason.map { SyncError.incomplete(reason: $0) }
    let changes = ChangeDetection.changes(
      from: [:], to: reading, before: nil, now: market, baseCurrency: shop.currency)
    try await database.write { transaction in
      // Two at once: the other one may have been first.
      if let other = try Self.known([domain, shop.shopifyDomain], in: transaction) { throw other }
      let store = try transaction.query(
        """
        INSERT INTO stores (id, name, domain, shopify_domain, added_at, last_attempt_at, last_fetched_at, country,
          read_country, currency, base_currency, headers, meta_asked_at, nameless,
          last_error)
        VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?5, ?6, ?11, ?7, ?8, ?9, ?5, ?10, ?12) RETURNING no
        """,
        [
          .text(id.uuidString), .text(name), .text(domain), .optional(shop.shopifyDomain), .date(now),
          .optional(country), .optional(reading.currency), .optional(shop.currency), .text(headers),
          .integer(Int64(reading.nameless)), .optional(readCountry), .optional(remark?.stored),
        ]
      ) { $0.integer(0) }[0]
      try CatalogueRows.apply(changes, store: store, at: now, in: transaction)
      if let record = try StoreRecord.find(id, in: transaction), reading.isComplete, readCountry == country {
        try ValidatorRows.keep(reading.validators, of: record, at: now, in: transaction)
      }
      try MarketRows.remember(reading, changes, market: market, store: store, at: now, in: transaction)
    }
    return id
  }

  private static func name(_ name: String?, _ domain: String) -> String {
    let name = name?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    guard name.isEmpty else { return name }
    // The first part of a number says nothing; "127.0.0.1:8080" does.
    let isNumber = !domain.utf8.contains { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 } || domain.hasPrefix("[")
    return isNumber ? domain : domain.split(separator: ".").first.map(String.init) ?? domain
  }

  /// The same shop under two addresses would be told of twice.
  private func refuseKnown(_ domains: [String?]) async throws {
    if let other = try await database.read({ try Self.known(domains, in: $0) }) { throw other }
  }

  private static func known(_ domains: [String?], in transaction: some Querying) throws -> WatchifyError? {
    for domain in domains.compactMap({ $0 }) {
      let condition = "WHERE domain = ?1 OR shopify_domain = ?1"
      if let store = try StoreRecord.all(condition, [.text(domain)], in: transaction).first {
        return .alreadyFollowed(name: store.name, id: store.id)
      }
    }
    return nil
  }

  func request(_ domain: String, _ country: String?, _ headers: [StoreHeader]) -> ShopRequest {
    let now = now()
    return ShopRequest(
      domain: domain, country: country,
      headers: headers.filter { $0.expiresAt.map { $0 > now } ?? true }.map { ($0.name, $0.value) })
  }

  /// Deletes a store and every row that belongs to it.
  func deleteRows(ofStore id: UUID) async throws {
    try await database.write { transaction in
      guard let store = try StoreRecord.find(id, in: transaction) else { return }
      for table in ["outbox", "unread"] {
        try transaction.execute("DELETE FROM \(table) WHERE store = ?1", [.integer(store.no)])
      }
      try CatalogueRows.unindex("store = ?1", [.integer(store.no)], transaction)
      try transaction.execute("DELETE FROM shown WHERE thread = ?1", [.text(id.uuidString)])
      try transaction.execute("DELETE FROM stores WHERE no = ?1", [.integer(store.no)])
    }
  }

  /// The followed stores, by name.
  /// - Throws: `StorageError`.
  public func stores() async throws -> [StoreDTO] {
    let syncing = syncing
    return try await database.read { transaction in
      try transaction.query(
        """
        SELECT id, name, domain, added_at, last_fetched_at, last_attempt_at, country, currency, last_error, is_closed,
          (SELECT count(*) FROM products WHERE store = no AND is_removed = 0), no,
          nameless + (SELECT count(*) FROM unreadable WHERE store = no AND variant IN (0, -2)),
          (SELECT count(*) FROM unreadable WHERE store = no AND variant NOT IN (0, -2))
        FROM stores ORDER BY name COLLATE NOCASE, no
        """, []
      ) { row in
        let id = UUID(uuidString: row.text(0)) ?? UUID()
        return StoreDTO(
          id: id, name: row.text(1), domain: row.text(2), addedAt: row.date(3), lastFetchedAt: row.optionalDate(4),
          lastAttemptAt: row.optionalDate(5), isSyncing: syncing[id] != nil,
          cachedProductCount: Int(row.integer(10)),
          cachedPreviewImageURLs: try Self.previews(row.integer(11), in: transaction), country: row.optionalText(6),
          currency: row.optionalText(7), lastSyncError: row.optionalText(8).flatMap(SyncError.init(stored:)),
          isClosed: row.flag(9), unreadableProducts: Int(row.integer(12)), unreadableVariants: Int(row.integer(13)))
      }
    }
  }

  private static func previews(_ store: Int64, in transaction: some Querying) throws -> [String] {
    try transaction.query(
      "SELECT images FROM products WHERE store = ?1 AND is_removed = 0 AND images <> '' ORDER BY row LIMIT 3",
      [.integer(store)]
    ) { CatalogueRows.images($0.text(0))[0] }
  }

  /// The followed stores; none when the database fails.
  public func fetchStores() async -> [StoreDTO] { await answer([]) { try await self.stores() } }

  /// The ids of the followed stores, in the order of following.
  /// - Throws: `StorageError`.
  public func storeIds() async throws -> [UUID] {
    try await database.read { try StoreRecord.all("ORDER BY no", [], in: $0).map(\.id) }
  }

  // MARK: Failures

  /// Does what must be done even when the caller is cancelled: what was shown must be noted as shown.
  nonisolated func uninterrupted<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
    try await Task { try await body() }.value
  }

  /// A query's answer; what went wrong is kept.
  func answer<R: Sendable>(_ empty: R, _ query: () async throws -> R) async -> R {
    do { return try await query() } catch {
      lastFailure = error
      return empty
    }
  }
}

/// What cannot be done, in words for people.
public enum WatchifyError: Error, Hashable, Sendable {
  /// The shop is followed already, perhaps under another of its addresses.
  case alreadyFollowed(name: String, id: UUID)
}

extension WatchifyError: LocalizedError {
  public var errorDescription: String? {
    switch self {
    case .alreadyFollowed(let name, _): "This shop is followed already, as \(name)."
    }
  }
}
