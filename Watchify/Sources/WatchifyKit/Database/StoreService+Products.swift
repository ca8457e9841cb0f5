import CofferSQLite
public import Foundation

/// Product queries.
extension StoreService {
  /// Returns a page of the listed products of a store; none if the database fails.
  /// - Parameters:
  ///   - storeId: the store.
  ///   - searchText: words that the title must contain, without regard to case and accents; empty for all products.
  ///   - stockScope: the availability of the products.
  ///   - sortOrder: the order of the products.
  ///   - offset: the number of products to skip.
  ///   - limit: the maximum number of products.
  public func fetchProducts(
    storeId: UUID, searchText: String = "", stockScope: StockScope = .all, sortOrder: ProductSort = .name,
    offset: Int = 0, limit: Int = 50
  ) async -> [ProductDTO] {
    let query = ProductQuery(storeId: storeId, searchText: searchText, stockScope: stockScope, sortOrder: sortOrder)
    return await answer([]) { try await self.products(query, offset: offset, limit: limit) }
  }

  /// Returns the number of products that such a list has; 0 if the database fails.
  public func fetchProductCount(storeId: UUID, searchText: String = "", stockScope: StockScope = .all) async -> Int {
    let query = ProductQuery(storeId: storeId, searchText: searchText, stockScope: stockScope)
    return await answer(0) { try await self.productCount(query) }
  }

  /// Returns a page of the products that match a query.
  /// - Throws: `StorageError`.
  public func products(_ query: ProductQuery, offset: Int = 0, limit: Int = 50) async throws -> [ProductDTO] {
    let (offset, limit, now) = (Int64(max(0, offset)), Int64(max(0, limit)), now())
    return try await database.read { transaction in
      guard let store = try StoreRecord.find(query.storeId, in: transaction) else { return [] }
      let (condition, arguments) = query.condition(store.no)
      // The inner query only uses an index, so skipped products are not read.
      return try Self.listed(
        "SELECT row AS chosen FROM products \(condition) ORDER BY \(query.order) LIMIT \(limit) OFFSET \(offset)",
        arguments, store, at: now, in: transaction)
    }
  }

  /// Returns the products whose rows a query selects, in its order.
  static func listed(
    _ rows: String, _ arguments: [SQLiteValue], _ store: StoreRecord, at now: Date, in transaction: some Querying
  ) throws -> [ProductDTO] {
    try transaction.query(
      """
      SELECT id, title, handle, images, price, is_available, first_seen_at, row
      FROM (\(rows)) CROSS JOIN products ON row = chosen
      """, arguments
    ) { row in
      var product = Self.product(row, store.currency)
      product.lowest = try shownPrices(of: row.integer(7), store.currency, in: transaction).notable(at: now)
      return product
    }
  }

  /// Returns the history of the price that a list shows: that of the first listed variant.
  private static func shownPrices(
    of product: Int64, _ currency: String?, in transaction: some Querying
  ) throws -> PriceHistory {
    PriceHistory(
      points: try transaction.query(
        """
        SELECT at, price FROM snapshots WHERE product = ?1 AND variant = (
          SELECT id FROM variants WHERE product = ?1 AND missing_since IS NULL ORDER BY position, id LIMIT 1)
          AND (currency IS NULL OR ?2 IS NULL OR currency = ?2) ORDER BY at
        """, [.integer(product), .optional(currency)]
      ) { .init(at: $0.date(0), price: $0.price(1)) })
  }

  /// Returns the number of products that match a query.
  /// - Throws: `StorageError`.
  public func productCount(_ query: ProductQuery) async throws -> Int {
    try await database.read { transaction in
      guard let store = try StoreRecord.find(query.storeId, in: transaction) else { return 0 }
      let (condition, arguments) = query.condition(store.no)
      return try transaction.query("SELECT count(*) FROM products \(condition)", arguments) { Int($0.integer(0)) }[0]
    }
  }

  static func product(_ row: SQLiteRow, _ currency: String?) -> ProductDTO {
    ProductDTO(
      shopifyId: row.integer(0), title: row.text(1), handle: row.text(2),
      imageURL: CatalogueRows.images(row.text(3)).first, cachedPrice: row.price(4).decimal, currency: currency,
      cachedIsAvailable: row.flag(5), firstSeenAt: row.date(6))
  }

  /// Returns a product with its variants and their histories, even if it is no longer listed; `nil` if it is unknown.
  /// - Throws: `StorageError`.
  public func product(storeId: UUID, shopifyId: Int64) async throws -> ProductDetailDTO? {
    let now = now()
    return try await database.read { transaction in
      guard let store = try StoreRecord.find(storeId, in: transaction) else { return nil }
      return try transaction.query(
        """
        SELECT id, title, handle, images, price, is_available, first_seen_at, row, vendor, type, is_removed
        FROM products WHERE store = ?1 AND id = ?2
        """, [.integer(store.no), .integer(shopifyId)]
      ) { row in
        var product = Self.product(row, store.currency)
        product.lowest = try Self.shownPrices(of: row.integer(7), store.currency, in: transaction).notable(at: now)
        let scheme = (try? ShopAddress(store.domain))?.isLoopback == true ? "http" : "https"
        return ProductDetailDTO(
          product: product, vendor: row.optionalText(8), productType: row.optionalText(9), isRemoved: row.flag(10),
          imageURLs: CatalogueRows.images(row.text(3)),
          url: "\(scheme)://\(store.domain)/products/\(product.handle.asPathComponent)",
          variants: try Self.variants(row.integer(7), at: now, in: transaction))
      }.first
    }
  }

  private static func variants(
    _ product: Int64, at now: Date, in transaction: some Querying
  ) throws -> [VariantDTO] {
    var histories: [Int64: [SnapshotDTO]] = [:]
    _ = try transaction.query(
      """
      SELECT variant, at, price, compare_at, is_available, currency FROM snapshots WHERE product = ?1
      ORDER BY variant, at
      """, [.integer(product)]
    ) { row in
      histories[row.integer(0), default: []].append(
        SnapshotDTO(
          capturedAt: row.date(1), price: row.price(2).decimal, compareAtPrice: row.optionalPrice(3)?.decimal,
          available: row.flag(4), currency: row.optionalText(5)))
    }
    return try transaction.query(
      """
      SELECT id, title, sku, price, compare_at, is_available, missing_since FROM variants WHERE product = ?1
      ORDER BY missing_since IS NOT NULL, position, id
      """, [.integer(product)]
    ) { row in
      let (price, compareAt) = (row.price(3), row.optionalPrice(4))
      let history = histories[row.integer(0)] ?? []
      let prices = PriceHistory(of: history)
      return VariantDTO(
        id: row.integer(0), title: row.text(1) == ShopifyVariant.onlyTitle ? nil : row.text(1),
        sku: row.optionalText(2), price: price.decimal,
        compareAtPrice: compareAt.flatMap { $0 > price ? $0.decimal : nil }, available: row.flag(5),
        isMissing: !row.isNull(6), history: history, lowest: prices.lowest(at: now),
        notableLowest: prices.notable(at: now))
    }
  }
}

/// A query for the listed products of a store.
public struct ProductQuery: Codable, Hashable, Sendable {
  /// The identifier of the store.
  public var storeId: UUID
  /// Words that the title must contain, without regard to case and accents; empty for all products.
  public var searchText: String
  /// The availability of the products.
  public var stockScope: StockScope
  /// The order of the products.
  public var sortOrder: ProductSort

  /// Creates a query.
  public init(
    storeId: UUID, searchText: String = "", stockScope: StockScope = .all, sortOrder: ProductSort = .name
  ) {
    self.storeId = storeId
    self.searchText = searchText
    self.stockScope = stockScope
    self.sortOrder = sortOrder
  }

  func condition(_ store: Int64) -> (sql: String, arguments: [SQLiteValue]) {
    condition("store = ?1", [.integer(store)])
  }

  /// Returns an SQL condition, which begins with a condition on the store, and its arguments.
  func condition(_ store: String, _ arguments: [SQLiteValue]) -> (sql: String, arguments: [SQLiteValue]) {
    var conditions = [store, "is_removed = 0"]
    var arguments = arguments
    switch stockScope {
    case .all: break
    case .inStock: conditions.append("is_available = 1")
    case .outOfStock: conditions.append("is_available = 0")
    }
    // Titles are stored without control characters, of which SQLite's search syntax does not accept all.
    let words = ShopText.visible(searchText).foldedForSearch.split(whereSeparator: \.isWhitespace).map(String.init)
    // The trigram index only finds words of at least three characters; shorter ones are searched in each title.
    let long = words.filter { $0.unicodeScalars.count >= 3 }
    if !long.isEmpty {
      arguments.append(
        .text(long.map { "\"\($0.replacingOccurrences(of: "\"", with: "\"\""))\"" }.joined(separator: " AND ")))
      conditions.append("row IN (SELECT rowid FROM product_titles WHERE product_titles MATCH ?\(arguments.count))")
    }
    for word in words where word.unicodeScalars.count < 3 {
      arguments.append(.text(word))
      conditions.append("instr(folded_title, ?\(arguments.count)) > 0")
    }
    return ("WHERE " + conditions.joined(separator: " AND "), arguments)
  }

  var order: String {
    switch sortOrder {
    case .name: "folded_title, row"
    case .priceLowHigh: "price, row"
    case .priceHighLow: "price DESC, row DESC"
    case .recentlyAdded: "published_at DESC, row DESC"
    }
  }
}
