import CofferSQLite
import Foundation

/// Wishes with their state, for display.
extension WishRows {
  private static let market = "coalesce(s.read_country, '') || '/' || coalesce(s.currency, '')"

  /// Returns wishes with their state, newest first.
  static func read(
    _ condition: String, _ arguments: [SQLiteValue], at now: Date, in transaction: some Querying
  ) throws -> [WishDTO] {
    try all(condition, arguments, in: transaction).reversed().map { try dto(of: $0, at: now, in: transaction) }
  }

  static func dto(of wish: WishRecord, at now: Date, in transaction: some Querying) throws -> WishDTO {
    let store = try wish.store.flatMap { try StoreRecord.all("WHERE no = ?1", [.integer($0)], in: transaction).first }
    let currencies = try store.map { [$0.currency] } ?? servedCurrencies(in: transaction)
    var obstacle: WishObstacle?
    if !currencies.isEmpty, !currencies.contains(where: { wish.isJudged(by: $0) }), let served = currencies[0] {
      obstacle = .otherCurrency(served)
    }
    let storeID = store?.id ?? UUID()
    let scope: WishScope =
      if let product = wish.product {
        wish.variant.map { .variant(storeId: storeID, productId: product, variantId: $0) }
          ?? .product(storeId: storeID, productId: product)
      } else { .search(storeId: store?.id, text: wish.search ?? "") }
    let isExpired = wish.isExpired(at: now)
    let count = isExpired || obstacle != nil ? 0 : try matchCount(wish, in: transaction)
    if obstacle == nil, !isExpired, try overflows(wish, in: transaction) { obstacle = .tooManyMatches(mostMatches) }
    var result = WishDTO(
      id: wish.id, scope: scope, condition: wish.condition, createdAt: wish.createdAt, expiresAt: wish.expiresAt,
      isTrue: count > 0, lastTrueAt: try lastTrue(wish, in: transaction), storeName: store?.name,
      currency: wish.currency ?? (Set(currencies).count == 1 ? currencies[0] : nil), obstacle: obstacle,
      matchCount: count)
    if case .priceAtMost(let price) = wish.condition { result.targetPrice = price }
    if let store { try describe(&result, wish, store, in: transaction) }
    return result
  }

  /// Adds the product's title, price and target price.
  private static func describe(
    _ result: inout WishDTO, _ wish: WishRecord, _ store: StoreRecord, in transaction: some Querying
  ) throws {
    guard let id = wish.product,
      let facts = try ProductFacts.find(id, store: store.no, store.currency, in: transaction)
    else { return }
    result.productTitle = facts.title
    result.productHandle = facts.handle
    let variants = try facts.variants(in: transaction).filter { wish.variant == nil || $0.id == wish.variant }
    if wish.variant != nil { result.variantTitle = variants.first?.shownTitle }
    let listed = variants.filter(\.isListed)
    let buyable = listed.filter(\.isAvailable)
    result.currentPrice = (buyable.isEmpty ? listed : buyable).map(\.price).min()?.decimal
    if result.obstacle == nil, facts.isRemoved || listed.isEmpty { result.obstacle = .notListed }
    if case .percentOff(let percent) = wish.condition {
      let bases = try (listed.isEmpty ? variants : listed).compactMap {
        try facts.base(of: $0, since: wish.baseAt, in: transaction)
      }
      if Set(bases).count == 1 { result.targetPrice = bases.first.map { $0.reduced(byPercent: percent).decimal } }
    }
  }

  private static func servedCurrencies(in transaction: some Querying) throws -> [String?] {
    try transaction.query(
      "SELECT DISTINCT currency FROM stores WHERE last_fetched_at IS NOT NULL ORDER BY currency", []
    ) { $0.optionalText(0) }
  }

  private static func matchCount(_ wish: WishRecord, in transaction: some Querying) throws -> Int {
    try transaction.query(
      """
      SELECT count(*) FROM stores AS s CROSS JOIN wish_matches AS m ON m.wish = ?1 AND m.store = s.no
        AND m.market = \(market)
      """, [.integer(wish.no)]
    ) { Int($0.integer(0)) }[0]
  }

  private static func overflows(_ wish: WishRecord, in transaction: some Querying) throws -> Bool {
    try transaction.query(
      """
      SELECT EXISTS (SELECT 1 FROM stores AS s CROSS JOIN wish_markets AS m
        ON m.wish = ?1 AND m.store = s.no AND m.market = \(market) WHERE m.overflows = 1)
      """, [.integer(wish.no)]
    ) { $0.flag(0) }[0]
  }

  private static func lastTrue(_ wish: WishRecord, in transaction: some Querying) throws -> Date? {
    try transaction.query("SELECT last_true_at FROM wishes WHERE no = ?1", [.integer(wish.no)]) {
      $0.optionalDate(0)
    }.first ?? nil
  }
}
