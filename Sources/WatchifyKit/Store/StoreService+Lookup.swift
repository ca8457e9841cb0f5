import CofferSQLite
public import Foundation

/// Finding single things by what people type, and looking at the database as a whole.
extension StoreService {
  /// The products with this handle, id or title, whatever its case and accents, also those that are gone.
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

  /// The ids of all products that were ever seen in a store.
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

  /// How many variants a store lists.
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

  /// The events whose ids begin with a text, whatever its case; two of them are enough to know that it is not one.
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

  /// How many events wait to be told by each channel.
  /// - Throws: `StorageError`.
  public func waitingNews() async throws -> [(channel: String, count: Int)] {
    try await database.read {
      try $0.query("SELECT channel, count(*) FROM outbox GROUP BY channel ORDER BY channel", []) { row in
        (channel: row.text(0), count: Int(row.integer(1)))
      }
    }
  }

  /// What SQLite finds wrong with the database's pages, in its words; nothing for a sound one. It reads the whole file.
  /// - Throws: `StorageError`.
  public func damage() async throws -> [String] {
    try await database.read {
      try $0.query("PRAGMA quick_check(20)", []) { $0.text(0) }.filter { $0 != "ok" }
    }
  }
}
