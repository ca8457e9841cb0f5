import CofferSQLite
public import Foundation

/// A query for the listed products of one store or of all stores.
public struct ListingQuery: Codable, Hashable, Sendable {
  /// The identifier of the store; `nil` for all stores.
  public var storeId: UUID?
  /// Words that the title must contain, without regard to case and accents; empty for all products.
  public var searchText: String
  /// The availability of the products.
  public var stockScope: StockScope
  /// The order of the products. Prices in different currencies are ordered by their numbers.
  public var sortOrder: ProductSort

  /// Creates a query.
  public init(
    storeId: UUID? = nil, searchText: String = "", stockScope: StockScope = .all, sortOrder: ProductSort = .name
  ) {
    self.storeId = storeId
    self.searchText = searchText
    self.stockScope = stockScope
    self.sortOrder = sortOrder
  }

  fileprivate var isSearch: Bool { !ShopText.visible(searchText).foldedForSearch.allSatisfy(\.isWhitespace) }

  /// The same query for one store.
  fileprivate var ofStore: ProductQuery {
    ProductQuery(storeId: storeId ?? UUID(), searchText: searchText, stockScope: stockScope, sortOrder: sortOrder)
  }
}

/// A product in a list that may contain products of several stores.
public struct ListedProductDTO: Codable, Hashable, Identifiable, Sendable {
  /// The identity of a product: products of different stores may have the same identifier.
  public struct ID: Codable, Hashable, Sendable {
    /// The identifier of the store.
    public var storeId: UUID
    /// The product's identifier in the shop.
    public var productId: Int64

    /// Creates an identity.
    public init(storeId: UUID, productId: Int64) {
      self.storeId = storeId
      self.productId = productId
    }
  }

  /// The identity of the product.
  public var id: ID { ID(storeId: storeId, productId: product.shopifyId) }
  /// The identifier of the store.
  public var storeId: UUID
  /// The display name of the store.
  public var storeName: String
  /// The product.
  public var product: ProductDTO

  /// Creates a listed product from its values, for example for a preview or a test.
  public init(storeId: UUID, storeName: String, product: ProductDTO) {
    self.storeId = storeId
    self.storeName = storeName
    self.product = product
  }
}

/// Lists of products of one store or of all stores.
extension StoreService {
  /// Returns a page of the products that match a query. The cost is proportional to `offset` and `limit`, and with a
  /// search text to the number of products that match.
  /// - Throws: `StorageError`.
  public func listing(_ query: ListingQuery, offset: Int = 0, limit: Int = 50) async throws -> [ListedProductDTO] {
    let (offset, limit, now) = (max(0, min(offset, 1 << 40)), max(0, min(limit, 1 << 20)), now())
    return try await database.read { transaction in
      let stores = try Self.stores(of: query, in: transaction)
      guard !stores.isEmpty else { return [] }
      let (rows, arguments) = Self.rows(of: query, in: stores, offset: offset, limit: limit)
      let chosen = try transaction.query(
        "SELECT chosen.row, p.store FROM (\(rows)) AS chosen CROSS JOIN products AS p ON p.row = chosen.row", arguments
      ) { (row: $0.integer(0), store: $0.integer(1)) }
      return try chosen.compactMap { row, number in
        guard let store = stores.first(where: { $0.no == number }) else { return nil }
        return try Self.listed("SELECT ?1 AS chosen", [.integer(row)], store, at: now, in: transaction).first.map {
          ListedProductDTO(storeId: store.id, storeName: store.name, product: $0)
        }
      }
    }
  }

  /// Returns the number of products that match a query.
  /// - Throws: `StorageError`.
  public func listingCount(_ query: ListingQuery) async throws -> Int {
    try await database.read { transaction in
      let stores = try Self.stores(of: query, in: transaction)
      let numbers = stores.map { String($0.no) }.joined(separator: ", ")
      let (condition, arguments) = query.ofStore.condition("store IN (\(numbers))", [])
      return try transaction.query("SELECT count(*) FROM products \(condition)", arguments) { Int($0.integer(0)) }[0]
    }
  }

  private static func stores(of query: ListingQuery, in transaction: some Querying) throws -> [StoreRecord] {
    guard let id = query.storeId else { return try StoreRecord.all("ORDER BY no", [], in: transaction) }
    return try StoreRecord.find(id, in: transaction).map { [$0] } ?? []
  }

  /// Returns a query for the rows of a page.
  static func rows(
    of query: ListingQuery, in stores: [StoreRecord], offset: Int, limit: Int
  ) -> (sql: String, arguments: [SQLiteValue]) {
    let one = query.ofStore
    let page = "ORDER BY \(one.order) LIMIT \(limit) OFFSET \(offset)"
    let numbers = stores.map { String($0.no) }
    // The search index is not divided by store, and SQLite merges at most 500 parts.
    guard !query.isSearch, stores.count <= 400 else {
      let (condition, arguments) = one.condition("+store IN (\(numbers.joined(separator: ", ")))", [])
      return ("SELECT row FROM products \(condition) \(page)", arguments)
    }
    // Each part is read in order from an index, and SQLite merges them without sorting.
    let parts = numbers.map { number in
      "SELECT row, \(sortColumn(query.sortOrder)) FROM products \(one.condition("store = \(number)", []).sql)"
    }
    return ("\(parts.joined(separator: " UNION ALL ")) \(page)", [])
  }

  private static func sortColumn(_ order: ProductSort) -> String {
    switch order {
    case .name: "folded_title"
    case .priceLowHigh, .priceHighLow: "price"
    case .recentlyAdded: "published_at"
    }
  }
}
