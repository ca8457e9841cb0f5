import CofferCore
import CofferSQLite
public import Foundation

/// The service that syncs the followed stores and queries their data.
///
/// ```swift
/// let service = await StoreService.makeBackground(container: container)
/// let store = try await service.addStore(name: nil, domain: "allbirds.com")
/// let news = try await service.syncStore(storeId: store)
/// ```
///
/// Its code runs on a private queue, neither on the main thread nor in the cooperative thread pool. It returns sendable
/// values. A query that does not throw returns an empty result if the database fails and sets ``lastFailure``; each of
/// them has a throwing form.
public actor StoreService: ModelActor {
  private static let singleton = Locked<StoreService?>(nil)

  /// The service of the application; `nil` until the application sets it.
  public static var shared: StoreService! {
    get { singleton.withLock { $0 } }
    set { singleton.withLock { $0 = newValue } }
  }

  /// The executor with the private queue.
  public nonisolated let modelExecutor: any ModelExecutor
  /// The database.
  public nonisolated let modelContainer: ModelContainer
  /// The source of products.
  public nonisolated let api: any ShopifyAPIProtocol
  /// The executor in the form that the Swift runtime requires.
  public nonisolated var unownedExecutor: UnownedSerialExecutor { modelExecutor.asUnownedSerialExecutor() }

  /// The error of the last non-throwing query that failed.
  public internal(set) var lastFailure: (any Error)?
  /// The number of syncs in progress, by store.
  var syncing: [UUID: Int] = [:]
  nonisolated let now: @Sendable () -> Date
  nonisolated var database: SQLiteDatabase { modelContainer.database }

  private init(_ container: ModelContainer, _ api: any ShopifyAPIProtocol, _ now: @escaping @Sendable () -> Date) {
    modelContainer = container
    modelExecutor = QueueExecutor(label: "watchify.model")
    self.api = api
    self.now = now
  }

  /// Creates a service, on a background thread.
  /// - Parameters:
  ///   - container: the database.
  ///   - api: the source of products; a ``ShopifyClient`` if `nil`.
  ///   - now: returns the current date.
  @concurrent
  public static func makeBackground(
    container: ModelContainer, api: (any ShopifyAPIProtocol)? = nil, now: @escaping @Sendable () -> Date = { Date() }
  ) async -> StoreService {
    StoreService(container, api ?? ShopifyClient(), now)
  }

  // MARK: Stores

  /// Follows a store as ``addStore(name:domain:country:headers:progress:)`` does, but throws a ``SyncError`` in place
  /// of a ``SyncFailure``.
  public func addStore(name: String?, domain: String) async throws -> UUID {
    do { return try await addStore(name: name, domain: domain, country: nil) } catch let failure as SyncFailure {
      throw failure.error
    }
  }

  /// Follows a store: requests its description, reads all of its products and stores them. The first read reports no
  /// changes.
  /// - Parameters:
  ///   - name: the display name; if `nil`, the name of the shop, or the first label of its address (all of a numeric
  ///     one).
  ///   - domain: the address, in any form that ``ShopAddress/init(_:)`` accepts.
  ///   - country: the country whose market is requested, as an ISO 3166 code; the shop's own if `nil`.
  ///   - headers: additional headers for requests to this address only: they are dropped for a store that lists its
  ///     products only at its Shopify domain.
  ///   - progress: called after each page, with the number of products so far and the page number.
  /// - Returns: The identifier of the new store.
  /// - Throws: ``ShopAddress/Invalid``, ``SyncFailure``, ``WatchifyError``, `StorageError`. No store is added then.
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
      // The description is untrusted: only a Shopify domain is accepted.
      shop.shopifyDomain = shop.shopifyDomain.flatMap { ShopAddress.insideShopify($0) }
      try await refuseKnown([address.domain, shop.shopifyDomain])
      // Without a country the shop would choose one by the client's IP address, which changes on a journey.
      request.country = country ?? shop.country ?? HomeMarket.country(of: shop.currency)
      request.progress = progress
      let reading: ShopReading
      do { reading = try await api.read(request) } catch SyncFailure.invalidResponse(.notShopify) {
        // A custom storefront may not serve listings; the shop's Shopify domain does.
        guard let inside = shop.shopifyDomain, inside != address.domain else { throw SyncFailure.notShopify }
        // Headers that grant access at one host must not be sent to another.
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

  /// Changes the name, country or headers of a store; a parameter that is `nil` leaves the value unchanged. A new
  /// country is another market, whose first read becomes a new baseline.
  /// - Throws: ``SyncFailure/storeNotFound``, `StorageError`.
  public func updateStore(
    id: UUID, name: String? = nil, country: String? = nil, headers: [StoreHeader]? = nil
  ) async throws {
    let encoded = try headers.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) }
    try await database.write { transaction in
      guard let store = try StoreRecord.find(id, in: transaction) else { throw SyncFailure.storeNotFound }
      try transaction.execute(
        """
        UPDATE stores SET name = coalesce(?2, name), country = coalesce(?3, country), headers = coalesce(?4, headers),
          generation = generation + 1
        WHERE no = ?1
        """, [.integer(store.no), .optional(name), .optional(country), .optional(encoded)])
      // With another country or other headers the shop may serve another listing.
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
    // An empty shop can be followed; after an interrupted read, the unread products would be reported as new.
    guard reading.isComplete || reading.isLimited || reading.products.isEmpty else {
      throw SyncFailure.incomplete(reason: reading.incompleteReason ?? "The listing was not read to its end.")
    }
    // Values read without a country belong to no country's market: the first read with one is a new baseline.
    let market = Market(country: readCountry, currency: reading.currency)
    let remark = reading.isComplete ? nil : reading.incompleteReason.map { SyncFailure.incomplete(reason: $0) }
    let changes = ChangeDetection.changes(
      from: [:], to: reading, before: nil, now: market, baseCurrency: shop.currency)
    try await database.write { transaction in
      // Another process may have added the shop in the meantime.
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
      var judge = WishJudge(store: store, market: market, at: now, in: transaction)
      _ = try judge.judge(changed: [])
    }
    return id
  }

  private static func name(_ name: String?, _ domain: String) -> String {
    let name = name?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    guard name.isEmpty else { return name }
    // The first part of a numeric address is not a useful name.
    let isNumber = !domain.utf8.contains { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 } || domain.hasPrefix("[")
    return isNumber ? domain : domain.split(separator: ".").first.map(String.init) ?? domain
  }

  /// Throws if a shop is followed already: under two addresses its changes would be reported twice.
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
      try transaction.execute(
        "DELETE FROM shown WHERE thread = ?1 OR thread IN (SELECT id FROM wishes WHERE store = ?2)",
        [.text(id.uuidString), .integer(store.no)])
      try transaction.execute("DELETE FROM stores WHERE no = ?1", [.integer(store.no)])
    }
  }

  /// Returns the followed stores, ordered by name; "Shop 9" comes before "Shop 10".
  /// - Throws: `StorageError`.
  public func stores() async throws -> [StoreDTO] {
    let syncing = syncing
    let stores = try await database.read { transaction in
      try transaction.query(
        """
        SELECT id, name, domain, added_at, last_fetched_at, last_attempt_at, country, currency, last_error, is_closed,
          product_count, no,
          nameless + (SELECT count(*) FROM unreadable WHERE store = no AND variant IN (0, -2)),
          (SELECT count(*) FROM unreadable WHERE store = no AND variant NOT IN (0, -2))
        FROM stores ORDER BY no
        """, []
      ) { row in
        let id = UUID(uuidString: row.text(0)) ?? UUID()
        return StoreDTO(
          id: id, name: row.text(1), domain: row.text(2), addedAt: row.date(3), lastFetchedAt: row.optionalDate(4),
          lastAttemptAt: row.optionalDate(5), isSyncing: syncing[id] != nil,
          cachedProductCount: Int(row.integer(10)),
          cachedPreviewImageURLs: try Self.previews(row.integer(11), in: transaction), country: row.optionalText(6),
          currency: row.optionalText(7), lastSyncFailure: row.optionalText(8).flatMap(SyncFailure.init(stored:)),
          isClosed: row.flag(9), unreadableProducts: Int(row.integer(12)), unreadableVariants: Int(row.integer(13)))
      }
    }
    return stores.map { (key: $0.name.sortKey, store: $0) }.sorted { $0.key < $1.key }.map(\.store)
  }

  /// The pictures of a store. Only the newest products are looked at, in the order of an index: every page lists the
  /// stores, and of many thousand products none may have a picture.
  static let previews = """
    SELECT images FROM (
      SELECT images FROM products WHERE store = ?1 AND is_removed = 0 ORDER BY published_at DESC, row DESC LIMIT 50)
    WHERE images <> '' LIMIT 3
    """

  private static func previews(_ store: Int64, in transaction: some Querying) throws -> [String] {
    try transaction.query(previews, [.integer(store)]) { CatalogueRows.images($0.text(0))[0] }
  }

  /// Returns the followed stores, ordered by name; none if the database fails.
  public func fetchStores() async -> [StoreDTO] { await answer([]) { try await self.stores() } }

  /// Returns the ids of the followed stores, in the order in which they were added.
  /// - Throws: `StorageError`.
  public func storeIds() async throws -> [UUID] {
    try await database.read { try StoreRecord.all("ORDER BY no", [], in: $0).map(\.id) }
  }

  // MARK: Failures

  /// Runs `body` to its end even if the caller is cancelled, so that a delivered notification is recorded as delivered.
  nonisolated func uninterrupted<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) async throws -> R {
    try await Task { try await body() }.value
  }

  /// Returns the result of a query, or `empty` if it throws; the error is kept in ``lastFailure``.
  func answer<R: Sendable>(_ empty: R, _ query: () async throws -> R) async -> R {
    do { return try await query() } catch {
      lastFailure = error
      return empty
    }
  }
}

/// An operation that cannot be performed.
public enum WatchifyError: Error, Hashable, Sendable {
  /// The shop is followed already, perhaps under another of its addresses.
  case alreadyFollowed(name: String, id: UUID)
  /// The shop at the address that a store was to move to lists no product of the store.
  case otherShop(address: String)
  /// A notification service was used before it was given a database.
  case noDatabase
}

extension WatchifyError: LocalizedError {
  public var errorDescription: String? {
    switch self {
    case .alreadyFollowed(let name, _): "This shop is already followed, as \(name)."
    case .otherShop(let address):
      "The shop at \(address) lists no product of this store, so it is another shop. Nothing was changed."
    case .noDatabase:
      "Notifications cannot be sent yet: attach a StoreService to the NotificationService first. Nothing was sent."
    }
  }
}
