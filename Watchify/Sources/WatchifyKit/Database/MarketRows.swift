import CofferSQLite
import Foundation

/// The database rows of each market's last values, for a return to the market.
enum MarketRows {
  /// Returns the state of a store that is kept between reads, apart from its products. Products with new ids have
  /// these.
  static func memory(
    of store: StoreRecord, in market: Market, isSwitch: Bool, renewals: [ProductRenewal], at now: Date,
    _ transaction: some Querying
  ) throws -> DetectionMemory {
    // A shop may start or stop stating its currency; the market is then that of the last read.
    let market = isSwitch ? market : store.market ?? market
    var memory = DetectionMemory(nameless: store.nameless)
    let renewals = Dictionary(renewals.map { ($0.old, $0) }) { first, _ in first }
    let known = try lastRead(of: market, store: store.no, in: transaction)
    if let known {
      memory.rate = known.rate
      memory.isKnownMarket = true
      // A read that found all pages unchanged counts as well.
      memory.age = now.timeIntervalSince(isSwitch ? known.at : store.lastFetchedAt ?? known.at)
    }
    if let known, isSwitch {
      memory.arrivals = Set(
        try transaction.query(
          """
          SELECT id FROM products AS p WHERE store = ?1 AND first_seen_at > ?2 AND NOT EXISTS (
            SELECT 1 FROM events AS e WHERE e.store = ?1 AND e.type = \(ChangeType.newProduct.code)
              AND e.product = p.id AND e.at > ?2)
          """, [.integer(store.no), .date(known.at)]
        ) { renewals[$0.integer(0)]?.new ?? $0.integer(0) })
      memory.told = try told(since: known.at, store: store.no, renewals, in: transaction)
    }
    memory.unreadable = Set(
      try transaction.query("SELECT product, variant FROM unreadable WHERE store = ?1", [.integer(store.no)]) {
        let (product, variant) = ($0.integer(0), $0.integer(1))
        let renewal = renewals[product]
        return UnreadableEntry(product: renewal?.new ?? product, variant: renewal?.variants[variant] ?? variant)
      })
    return memory
  }

  /// Returns the time of a market's last read that found changes, and the exchange rate then; `nil` for a new market.
  static func lastRead(
    of market: Market, store: Int64, in transaction: some Querying
  ) throws -> (rate: Double, at: Date)? {
    try transaction.query(
      "SELECT rate, read_at FROM markets WHERE store = ?1 AND market = ?2", [.integer(store), .text(market.text)]
    ) { (rate: $0.rate(0), at: $0.date(1)) }.first
  }

  /// Returns the changes reported since a market was left at a date, and before that during the last stay.
  private static func told(
    since date: Date, store: Int64, _ renewals: [Int64: ProductRenewal], in transaction: some Querying
  ) throws -> ToldElsewhere {
    var told = ToldElsewhere()
    _ = try transaction.query(
      """
      SELECT type, product, variant, old_price, new_price, at > ?2 FROM events
      WHERE store = ?1 AND product IS NOT NULL AND at >= coalesce((
        SELECT max(at) FROM events WHERE store = ?1 AND type = \(ChangeType.currencyChanged.code) AND at <= ?2), ?2 + 1)
      ORDER BY row
      """, [.integer(store), .date(date)]
    ) { row in
      guard let type = ChangeType(code: row.integer(0)) else { return }
      let (product, variant) = (row.integer(1), row.optionalInteger(2))
      let renewal = renewals[product]
      let change = DetectedChange(
        type: type, productID: renewal?.new ?? product,
        variantID: variant.map { renewal?.variants[$0] ?? $0 }, oldPrice: row.optionalPrice(3),
        newPrice: row.optionalPrice(4))
      if row.flag(5) { told.add(change) } else { told.add(before: change) }
    }
    return told
  }

  // MARK: Changing the market

  /// Replaces the values of products with those that they had in a market.
  static func overlay(
    _ products: inout [Int64: StoredProduct], store: Int64, market: Market, _ transaction: some Querying
  ) throws {
    _ = try transaction.query(
      """
      SELECT p.id, m.images, m.missing_reads, m.is_removed FROM market_products AS m
      CROSS JOIN products AS p ON p.row = m.product WHERE p.store = ?1 AND m.market = ?2
      """, [.integer(store), .text(market.text)]
    ) { row in
      let id = row.integer(0)
      products[id]?.imagePaths = CatalogueRows.images(row.text(1))
      products[id]?.missingReads = Int(row.integer(2))
      products[id]?.isRemoved = row.flag(3)
    }
    var positions: [Int64: [Int64: Int]] = [:]
    _ = try transaction.query(
      """
      SELECT p.id, m.variant, m.price, m.compare_at, m.is_available, m.missing_reads, m.told_price, m.told_rate
      FROM market_variants AS m CROSS JOIN products AS p ON p.row = m.product WHERE p.store = ?1 AND m.market = ?2
      """, [.integer(store), .text(market.text)]
    ) { row in
      let id = row.integer(0)
      guard let variants = products[id]?.variants else { return }
      let own = positions[id] ?? Dictionary(zip(variants.map(\.id), 0...)) { first, _ in first }
      positions[id] = own
      guard let position = own[row.integer(1)] else { return }
      var variant = variants[position]
      variant.market = market
      variant.price = row.price(2)
      variant.compareAtPrice = row.optionalPrice(3)
      variant.available = row.flag(4)
      variant.missingReads = Int(row.integer(5))
      variant.reference = ReferencePrice(price: row.optionalPrice(6) ?? variant.price, rate: row.rate(7))
      products[id]?.variants[position] = variant
    }
  }

  /// Saves the current values of one market and restores those of another.
  static func change(
    from old: Market, to new: Market, store: Int64, at now: Date, in transaction: SQLiteDatabase.Transaction
  ) throws {
    let own = "product IN (SELECT row FROM products WHERE store = ?1)"
    try transaction.execute(
      """
      INSERT OR REPLACE INTO market_products
        SELECT row, ?2, images, missing_reads, is_removed FROM products
        WHERE store = ?1 AND row IN (SELECT product FROM variants WHERE market = ?2)
      """, [.integer(store), .text(old.text)])
    try transaction.execute(
      """
      INSERT OR REPLACE INTO market_variants
        SELECT product, id, market, price, compare_at, is_available, missing_since, missing_reads, told_price, told_rate
        FROM variants WHERE market = ?2 AND \(own)
      """, [.integer(store), .text(old.text)])
    let arguments: [SQLiteValue] = [.integer(store), .text(new.text)]
    try transaction.execute(
      """
      UPDATE products SET images = m.images, missing_reads = m.missing_reads, is_removed = m.is_removed
      FROM market_products AS m WHERE m.product = products.row AND m.market = ?2 AND products.store = ?1
      """, arguments)
    try transaction.execute(
      """
      UPDATE variants SET market = m.market, price = m.price, compare_at = m.compare_at,
        is_available = m.is_available, missing_since = m.missing_since, missing_reads = m.missing_reads,
        told_price = m.told_price, told_rate = m.told_rate
      FROM market_variants AS m WHERE m.product = variants.product AND m.variant = variants.id AND m.market = ?2
        AND variants.\(own)
      """, arguments)
    // The history continues in the new market's currency.
    try transaction.execute(
      """
      INSERT OR REPLACE INTO snapshots SELECT product, variant, ?3, price, compare_at, is_available, ?4
      FROM market_variants WHERE market = ?2 AND \(own)
      """, arguments + [.date(now), .optional(new.currency)])
    try transaction.execute(
      "UPDATE products SET \(CatalogueRows.shownValues) WHERE store = ?1 AND row IN "
        + "(SELECT product FROM market_products WHERE market = ?2)", arguments)
    try transaction.execute("DELETE FROM market_variants WHERE market = ?2 AND \(own)", arguments)
    try transaction.execute("DELETE FROM market_products WHERE market = ?2 AND \(own)", arguments)
  }

  // MARK: Writing

  /// Writes the state of a store that is kept between reads.
  static func remember(
    _ reading: ShopReading, _ changes: ChangeSet, market: Market, store: Int64, at now: Date,
    in transaction: SQLiteDatabase.Transaction
  ) throws {
    try transaction.execute(
      "INSERT OR REPLACE INTO markets VALUES (?1, ?2, ?3, ?4)",
      [.integer(store), .text(market.text), .rate(changes.rate), .date(now)])
    try transaction.execute("DELETE FROM unreadable WHERE store = ?1", [.integer(store)])
    let withoutID = changes.withoutID.map { UnreadableEntry(product: $0, variant: UnreadableEntry.withoutID) }
    for entry in reading.unreadable.union(withoutID) {
      try transaction.execute(
        "INSERT INTO unreadable VALUES (?1, ?2, ?3)",
        [.integer(store), .integer(entry.product), .integer(entry.variant)])
    }
  }
}
