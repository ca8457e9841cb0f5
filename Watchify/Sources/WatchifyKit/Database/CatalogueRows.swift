import CofferSQLite
import Foundation

/// The database rows of a store's products, variants and snapshots.
enum CatalogueRows {
  /// Returns the stored products with their variants, by product id, for a comparison.
  static func load(store: Int64, in transaction: some Querying) throws -> [Int64: StoredProduct] {
    var ids: [Int64: Int64] = [:]
    var products: [Int64: StoredProduct] = [:]
    _ = try transaction.query(
      """
      SELECT row, id, title, handle, vendor, type, published_at, images, missing_reads, is_removed
      FROM products WHERE store = ?1
      """, [.integer(store)]
    ) { row in
      ids[row.integer(0)] = row.integer(1)
      products[row.integer(1)] = StoredProduct(
        row: row.integer(0), id: row.integer(1), title: row.text(2), handle: row.text(3), vendor: row.optionalText(4),
        productType: row.optionalText(5), publishedAt: row.optionalInteger(6), imagePaths: images(row.text(7)),
        missingReads: Int(row.integer(8)), isRemoved: row.flag(9), variants: [])
    }
    try loadVariants(store, transaction) { row, variants in
      if let id = ids[row] { products[id]?.variants = variants }
    }
    return products
  }

  /// Calls `body` with the row and the variants of each product, so that only one product's variants are held at a
  /// time.
  private static func loadVariants(
    _ store: Int64, _ transaction: some Querying, _ body: (Int64, [StoredVariant]) -> Void
  ) throws {
    // Nearly all variants have the same market.
    var last = ("", Market())
    func market(_ text: String) -> Market {
      if last.0 != text { last = (text, Market(text)) }
      return last.1
    }
    var (product, variants): (Int64, [StoredVariant]) = (0, [])
    _ = try transaction.query(
      """
      SELECT v.product, v.id, v.title, v.sku, v.price, v.compare_at, v.is_available, v.position, v.market,
        v.missing_reads, v.told_price, v.told_rate
      FROM products AS p CROSS JOIN variants AS v ON v.product = p.row WHERE p.store = ?1 ORDER BY p.row
      """, [.integer(store)]
    ) { row in
      if row.integer(0) != product {
        if !variants.isEmpty { body(product, variants) }
        (product, variants) = (row.integer(0), [])
      }
      variants.append(
        StoredVariant(
          id: row.integer(1), title: row.text(2), sku: row.optionalText(3), price: row.price(4),
          compareAtPrice: row.optionalPrice(5), available: row.flag(6), position: Int(row.integer(7)),
          market: market(row.text(8)), missingReads: Int(row.integer(9)),
          reference: ReferencePrice(price: row.optionalPrice(10) ?? row.price(4), rate: row.rate(11))))
    }
    if !variants.isEmpty { body(product, variants) }
  }

  /// Returns the ids of the products that a complete listing is expected to contain.
  static func knownIDs(store: Int64, in transaction: some Querying) throws -> Set<Int64> {
    Set(
      try transaction.query(
        """
        SELECT id FROM products WHERE store = ?1 AND is_removed = 0 AND missing_reads = 0
          AND id NOT IN (SELECT product FROM unreadable WHERE store = ?1 AND variant = -2)
        """, [.integer(store)]
      ) { $0.integer(0) })
  }

  static func images(_ text: String) -> [String] {
    text.isEmpty ? [] : text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  // MARK: Writing

  /// Writes the result of a comparison; returns the rows of the changed products.
  @discardableResult
  static func apply(
    _ changes: ChangeSet, store: Int64, at now: Date, in transaction: SQLiteDatabase.Transaction
  ) throws -> [Int64] {
    let rows = try changes.products.map { change in
      // Another market has other values of the product itself.
      let row =
        try change.isOwnChange || changes.leftMarket != nil
        ? write(change.product, isNew: change.isNew, store, now, transaction) : change.product.row
      for variant in change.product.variants { try write(variant, row, now, transaction) }
      let snapshots = Set(change.snapshots)
      for variant in change.product.variants where snapshots.contains(variant.id) {
        try transaction.execute(
          "INSERT OR REPLACE INTO snapshots VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
          [
            .integer(row), .integer(variant.id), .date(now), .price(variant.price),
            .optional(variant.compareAtPrice), .flag(variant.available), .optional(variant.market.currency),
          ])
      }
      guard !change.product.variants.isEmpty else { return row }
      // Lists show the price of the first listed variant and whether any variant is available. One by one: an
      // index with a column that is set is written even if the value is the same.
      try transaction.execute(
        "UPDATE products SET price = \(shownPrice) WHERE row = ?1 AND price <> \(shownPrice)", [.integer(row)])
      try transaction.execute(
        """
        UPDATE products SET is_available = 1 - is_available WHERE row = ?1 AND is_available <> \(shownAvailability)
        """, [.integer(row)])
      return row
    }
    try transaction.execute(
      """
      UPDATE stores SET product_count = (SELECT count(*) FROM products WHERE store = ?1 AND is_removed = 0)
      WHERE no = ?1
      """, [.integer(store)])
    return rows
  }

  /// Gives products and their variants new ids, in their news and wishes as well.
  static func renew(_ renewals: [ProductRenewal], store: Int64, in transaction: SQLiteDatabase.Transaction) throws {
    for renewal in renewals {
      let product: [SQLiteValue] = [.integer(store), .integer(renewal.old), .integer(renewal.new)]
      try transaction.execute("UPDATE products SET id = ?3 WHERE store = ?1 AND id = ?2", product)
      for table in ["events", "stock_told", "wishes"] {
        try transaction.execute("UPDATE \(table) SET product = ?3 WHERE store = ?1 AND product = ?2", product)
      }
      for (old, new) in renewal.variants {
        let row: [SQLiteValue] = [.integer(renewal.row), .integer(old), .integer(new)]
        try transaction.execute("UPDATE variants SET id = ?3 WHERE product = ?1 AND id = ?2", row)
        for table in ["snapshots", "market_variants"] {
          try transaction.execute("UPDATE \(table) SET variant = ?3 WHERE product = ?1 AND variant = ?2", row)
        }
        let own: [SQLiteValue] = [.integer(store), .integer(renewal.new), .integer(old), .integer(new)]
        for table in ["events", "stock_told", "wishes"] {
          try transaction.execute(
            "UPDATE \(table) SET variant = ?4 WHERE store = ?1 AND product = ?2 AND variant = ?3", own)
        }
      }
    }
  }

  static let shownValues = "price = \(shownPrice), is_available = \(shownAvailability)"

  private static let shownPrice = """
    coalesce((SELECT price FROM variants WHERE product = products.row AND missing_since IS NULL
      ORDER BY position, id LIMIT 1), price)
    """
  private static let shownAvailability = """
    EXISTS (SELECT 1 FROM variants WHERE product = products.row AND missing_since IS NULL AND is_available)
    """

  private static func write(
    _ product: StoredProduct, isNew: Bool, _ store: Int64, _ now: Date, _ transaction: SQLiteDatabase.Transaction
  ) throws -> Int64 {
    let missing = product.missingReads > 0
    var values: [SQLiteValue] = [
      .text(product.title), .text(product.title.foldedForSearch), .text(product.handle), .optional(product.vendor),
      .optional(product.productType), .optional(product.publishedAt),
      .text(product.imagePaths.joined(separator: "\n")), .integer(Int64(product.missingReads)),
      .flag(product.isRemoved), missing ? .date(now) : .null,
    ]
    guard isNew else {
      values.append(.integer(product.row))
      let isRenamed = try unindex("row = ?1 AND folded_title <> ?2", [.integer(product.row), values[1]], transaction)
      try transaction.execute(
        """
        UPDATE products SET title = ?1, folded_title = ?2, handle = ?3, vendor = ?4, type = ?5, published_at = ?6,
          images = ?7, missing_reads = ?8, is_removed = ?9,
          missing_since = CASE WHEN ?10 IS NULL THEN NULL ELSE coalesce(missing_since, ?10) END
        WHERE row = ?11 AND (title, handle, vendor, type, published_at, images, missing_reads, is_removed)
          IS NOT (?1, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
        """, values)
      if isRenamed { try index(product.row, transaction) }
      return product.row
    }
    values += [.integer(store), .integer(product.id), .date(now)]
    let row = try transaction.query(
      """
      INSERT INTO products (title, folded_title, handle, vendor, type, published_at, images, missing_reads, is_removed,
        missing_since, store, id, first_seen_at, price, is_available)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, 0, 0) RETURNING row
      """, values
    ) { $0.integer(0) }[0]
    try index(row, transaction)
    return row
  }

  // MARK: Searching

  private static func index(_ row: Int64, _ transaction: SQLiteDatabase.Transaction) throws {
    try transaction.execute(
      "INSERT INTO product_titles (rowid, folded_title) SELECT row, folded_title FROM products WHERE row = ?1",
      [.integer(row)])
  }

  /// Removes the titles of products from the search index; returns whether there were any. Must be called before the
  /// titles change.
  @discardableResult
  static func unindex(
    _ condition: String, _ arguments: [SQLiteValue], _ transaction: SQLiteDatabase.Transaction
  ) throws -> Bool {
    let rows = try transaction.query("SELECT row FROM products WHERE \(condition)", arguments) { $0.integer(0) }
    guard !rows.isEmpty else { return false }
    try transaction.execute(
      """
      INSERT INTO product_titles (product_titles, rowid, folded_title)
      SELECT 'delete', row, folded_title FROM products WHERE \(condition)
      """, arguments)
    return true
  }

  private static func write(
    _ variant: StoredVariant, _ product: Int64, _ now: Date, _ transaction: SQLiteDatabase.Transaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO variants VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
      ON CONFLICT DO UPDATE SET title = ?3, sku = ?4, price = ?5, compare_at = ?6, is_available = ?7, position = ?8,
        market = ?9, missing_since = CASE WHEN ?10 IS NULL THEN NULL ELSE coalesce(missing_since, ?10) END,
        missing_reads = ?11, told_price = ?12, told_rate = ?13
      """,
      [
        .integer(product), .integer(variant.id), .text(variant.title), .optional(variant.sku), .price(variant.price),
        .optional(variant.compareAtPrice), .flag(variant.available), .integer(Int64(variant.position)),
        .text(variant.market.text), variant.isMissing ? .date(now) : .null, .integer(Int64(variant.missingReads)),
        variant.reference.price == variant.price ? .null : .price(variant.reference.price),
        .rate(variant.reference.rate),
      ])
  }
}

extension Market {
  /// The form in the database, such as "US/USD"; an unknown part is empty.
  var text: String { "\(country ?? "")/\(currency ?? "")" }

  init(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    country = parts.first.flatMap { $0.isEmpty ? nil : String($0) }
    currency = parts.count < 2 || parts[1].isEmpty ? nil : String(parts[1])
  }
}
