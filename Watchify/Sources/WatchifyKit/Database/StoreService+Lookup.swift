import CofferSQLite
public import Foundation

/// Lookups by user input, and statistics of the database.
extension StoreService {
  /// Returns the products with a handle, id or title, including removed ones. Titles are compared without case and
  /// accents.
  /// - Throws: `StorageError`.
  public func products(storeId: UUID, named text: String) async throws -> [ProductDTO] {
    let arguments: [SQLiteValue] = [.text(text), .text(text.foldedForSearch)]
    let ids = try await ids(
      storeId, "AND (handle = ?2 OR folded_title = ?3 OR id = CAST(?2 AS INTEGER)) ORDER BY is_removed, row", arguments)
    var found: [ProductDTO] = []
    for id in ids {
      if let detail = try await product(storeId: storeId, shopifyId: id) { found.append(detail.product) }
    }
    return found
  }

  /// Returns the ids of all products of a store, including removed ones, ordered by title.
  /// - Throws: `StorageError`.
  public func productIds(storeId: UUID) async throws -> [Int64] {
    try await ids(storeId, "ORDER BY folded_title, row", [])
  }

  private func ids(_ store: UUID, _ condition: String, _ arguments: [SQLiteValue]) async throws -> [Int64] {
    try await database.read { transaction in
      guard let store = try StoreRecord.find(store, in: transaction) else { return [] }
      return try transaction.query(
        "SELECT id FROM products WHERE store = ?1 \(condition)", [.integer(store.no)] + arguments
      ) { $0.integer(0) }
    }
  }

  /// Returns the number of listed variants of a store.
  /// - Throws: `StorageError`.
  public func variantCount(storeId: UUID) async throws -> Int {
    try await database.read { transaction in
      guard let store = try StoreRecord.find(storeId, in: transaction) else { return 0 }
      return try transaction.query(
        """
        SELECT count(*) FROM products AS p JOIN variants AS v ON v.product = p.row
        WHERE p.store = ?1 AND p.is_removed = 0 AND v.missing_since IS NULL
        """, [.integer(store.no)]
      ) { Int($0.integer(0)) }[0]
    }
  }

  /// Returns the number of a store's products, including removed ones, of its snapshots and of its events.
  /// - Throws: `StorageError`.
  public func extent(storeId: UUID) async throws -> (products: Int, snapshots: Int, events: Int) {
    try await database.read { transaction in
      guard let store = try StoreRecord.find(storeId, in: transaction) else { return (0, 0, 0) }
      return try transaction.query(
        """
        SELECT (SELECT count(*) FROM products WHERE store = ?1),
          (SELECT count(*) FROM snapshots WHERE product IN (SELECT row FROM products WHERE store = ?1)),
          (SELECT count(*) FROM events WHERE store = ?1)
        """, [.integer(store.no)]
      ) { (Int($0.integer(0)), Int($0.integer(1)), Int($0.integer(2))) }[0]
    }
  }

  /// Returns the names and expiration dates of a store's additional headers, without their values, which may be
  /// secrets.
  /// - Throws: `StorageError`.
  public func headers(storeId: UUID) async throws -> [(name: String, expiresAt: Date?)] {
    try await database.read { transaction in
      try StoreRecord.find(storeId, in: transaction)?.headers.map { ($0.name, $0.expiresAt) } ?? []
    }
  }

  /// Returns the events whose ids begin with a text, whatever its case; at most two, which suffice to detect an
  /// ambiguous prefix.
  /// - Throws: `StorageError`.
  public func events(idPrefix: String) async throws -> [ChangeEventDTO] {
    let prefix = idPrefix.uppercased()
    guard !prefix.isEmpty,
      prefix.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || UInt8(ascii: "0")...UInt8(ascii: "F") ~= $0 })
    else { return [] }
    return try await database.read {
      try EventRows.read(
        "SELECT row FROM events WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 2", [.text(prefix), .text(prefix + "G")],
        $0)
    }
  }

  /// Returns the events of the same store, product and category within a time interval around an event, newest first.
  /// Only these are read from the database.
  /// - Throws: `StorageError`.
  public func events(around event: ChangeEventDTO, within interval: TimeInterval) async throws -> [ChangeEventDTO] {
    let types = ChangeType.allCases.filter { $0.category == event.changeType.category }
    let codes = types.map { String($0.code) }.joined(separator: ", ")
    let (start, end) = (event.occurredAt.addingTimeInterval(-interval), event.occurredAt.addingTimeInterval(interval))
    return try await database.read { transaction in
      guard let id = event.storeId, let store = try StoreRecord.find(id, in: transaction) else { return [] }
      return try EventRows.read(
        """
        SELECT row FROM events INDEXED BY events_by_variant
        WHERE store = ?1 AND product IS ?2 AND type IN (\(codes)) AND at BETWEEN ?3 AND ?4 ORDER BY row DESC
        """, [.integer(store.no), .optional(event.productShopifyId), .date(start), .date(end)], transaction)
    }
  }

  /// The number of days after which undelivered events are dropped from the outbox at the latest.
  public static let daysOfWaitingNews = Int(OutboxRows.longestLifetime / 86_400)

  /// Returns the number of undelivered events of each channel.
  /// - Throws: `StorageError`.
  public func waitingNews() async throws -> [(channel: String, count: Int)] {
    try await database.read {
      try $0.query("SELECT channel, count(*) FROM outbox GROUP BY channel ORDER BY channel", []) { row in
        (channel: row.text(0), count: Int(row.integer(1)))
      }
    }
  }

  /// Returns the messages of SQLite's `quick_check`, at most 20; empty if the database is intact. Reads the whole file.
  /// - Throws: `StorageError`.
  public func damage() async throws -> [String] {
    try await database.read {
      try $0.query("PRAGMA quick_check(20)", []) { $0.text(0) }.filter { $0 != "ok" }
    }
  }
}
