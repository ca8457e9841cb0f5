import CofferSQLite
import Foundation

/// Judges the wishes about one store after its products were written, in the same transaction.
///
/// The first judgement of a wish in a market is a baseline without news. After that only products that a read changed
/// are judged. A product that fulfils a wish has a row; news is reported when the row is added, and the row is deleted
/// when the product no longer fulfils the wish. A wish that more products fulfil than are recorded has no news until
/// fewer do: which of the others are new is unknown.
struct WishJudge {
  /// The maximum number of products reported for one wish in one read.
  static let mostNewsPerWish = 50
  /// The maximum number of wish events of one read.
  static let mostNews = 5_000

  private let store: Int64
  private let market: Market
  private let rules: DetectionRules
  /// The last read of the market, if this read returns to it from another one.
  private let returnsFrom: Date?
  private let now: Date
  private let transaction: SQLiteDatabase.Transaction
  private var wishes: [Entry] = []
  /// The wishes about single products, by product, and those about searches, by text, as indices.
  private var byProduct: [Int64: [Int]] = [:]
  private var bySearch = SearchIndex([:])
  private var byNumber: [Int64: Int] = [:]
  /// The products that are new in this read.
  private var arrivals: Set<Int64> = []
  private var news: [DetectedChange] = []

  /// A wish to be judged in this read.
  private struct Entry {
    var wish: WishRecord
    /// Whether this is its first judgement in the market.
    var isBaseline: Bool
    /// Whether all products are judged, not only the changed ones.
    var isFull: Bool
    /// The number of recorded matches; `nil` until it is needed.
    var matches: Int?
    var newsCount = 0
  }

  init(
    store: Int64, market: Market, rules: DetectionRules = DetectionRules(), returnsFrom: Date? = nil, at now: Date,
    in transaction: SQLiteDatabase.Transaction
  ) {
    self.store = store
    self.market = market
    self.rules = rules
    self.returnsFrom = returnsFrom
    self.now = now
    self.transaction = transaction
  }

  /// Judges all wishes about the store.
  /// - Parameters:
  ///   - rows: the rows of the products that the read changed.
  ///   - arrivals: the identifiers of the products that the read reports as new.
  /// - Returns: The news of wishes that came true.
  mutating func judge(changed rows: [Int64], arrivals: Set<Int64> = []) throws -> [DetectedChange] {
    let all = try WishRows.all("WHERE w.store IS NULL OR w.store = ?1", [.integer(store)], in: transaction)
    guard !all.isEmpty else { return [] }
    self.arrivals = arrivals
    try prepare(all)
    guard !wishes.isEmpty else { return [] }
    let changed = Set(rows)
    for row in try visited(changed) {
      guard let facts = try ProductFacts.find(row: row, market.currency, in: transaction) else { continue }
      try judge(facts, isChanged: changed.contains(row))
    }
    return news
  }

  /// Judges a new or edited wish: what fulfils it now is recorded without news.
  mutating func begin(_ wish: WishRecord) throws {
    try prepare([wish])
    guard !wishes.isEmpty else { return }
    for row in try visited([]) {
      guard let facts = try ProductFacts.find(row: row, market.currency, in: transaction) else { continue }
      try judge(facts, isChanged: false)
    }
  }

  // MARK: Preparation

  private mutating func prepare(_ all: [WishRecord]) throws {
    let own: [SQLiteValue] = [.integer(store), .text(market.text)]
    let known = Dictionary(
      try transaction.query("SELECT wish, is_stale, overflows FROM wish_markets WHERE store = ?1 AND market = ?2", own)
      {
        ($0.integer(0), (isStale: $0.flag(1), overflows: $0.flag(2)))
      }, uniquingKeysWith: { first, _ in first })
    var searches: [SearchWords: [Int]] = [:]
    for wish in all {
      let isStale = known[wish.no]?.isStale
      guard !wish.isExpired(at: now) else {
        // If its date is changed, or the clock was wrong, the reads in between have not been judged.
        if isStale == false { try mark(wish, isStale: true) }
        continue
      }
      guard wish.isJudged(by: market.currency) else { continue }
      let wish = try settleBase(of: wish)
      let overflows = known[wish.no]?.overflows ?? false
      // All products are judged anew when there is room for a tenth.
      let hasRoom = try overflows && count(wish) <= WishRows.mostMatches / 10 * 9
      if isStale != false || hasRoom { try mark(wish, isStale: false) }
      let index = wishes.count
      wishes.append(
        Entry(wish: wish, isBaseline: isStale == nil || overflows, isFull: isStale != false || hasRoom))
      byNumber[wish.no] = index
      if let search = wish.search { searches[SearchWords(search), default: []].append(index) }
      if let product = wish.product { byProduct[product, default: []].append(index) }
    }
    bySearch = SearchIndex(searches)
  }

  /// Returns a wish whose base is not in the future, as after the clock was set back: it would be every new price.
  private func settleBase(of wish: WishRecord) throws -> WishRecord {
    guard wish.baseAt > now else { return wish }
    var wish = wish
    wish.baseAt = now
    try transaction.execute("UPDATE wishes SET base_at = ?2 WHERE no = ?1", [.integer(wish.no), .date(now)])
    return wish
  }

  /// Records whether a wish is judged; one that is judged anew has room until it has not.
  private func mark(_ wish: WishRecord, isStale: Bool) throws {
    try transaction.execute(
      """
      INSERT INTO wish_markets (store, market, wish, is_stale) VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT DO UPDATE SET is_stale = ?4, overflows = overflows AND ?4
      """, [.integer(store), .text(market.text), .integer(wish.no), .flag(isStale)])
  }

  /// Returns the rows of the products to judge, in their order.
  private func visited(_ changed: Set<Int64>) throws -> [Int64] {
    let full = wishes.filter(\.isFull)
    let searches = Set(full.compactMap(\.wish.search))
    guard searches.count <= Self.mostQueries else {
      return try rows("SELECT row FROM products WHERE store = ?1", [.integer(store)]).sorted()
    }
    var visited = changed
    for search in searches {
      let (condition, arguments) = ProductQuery(storeId: UUID(), searchText: search).condition(store)
      visited.formUnion(try rows("SELECT row FROM products \(condition)", arguments))
    }
    for entry in full {
      if let product = entry.wish.product {
        visited.formUnion(
          try rows("SELECT row FROM products WHERE store = ?1 AND id = ?2", [.integer(store), .integer(product)]))
      }
      guard !entry.isBaseline else { continue }
      visited.formUnion(
        try rows(
          "SELECT product FROM wish_matches WHERE wish = ?3 AND store = ?1 AND market = ?2",
          [.integer(store), .text(market.text), .integer(entry.wish.no)]))
    }
    return visited.sorted()
  }

  /// The number of searches up to which each is a query; beyond it, all products are read.
  private static let mostQueries = 16

  private func rows(_ sql: String, _ arguments: [SQLiteValue]) throws -> [Int64] {
    try transaction.query(sql, arguments) { $0.integer(0) }
  }

  // MARK: One product

  private mutating func judge(_ product: ProductFacts, isChanged: Bool) throws {
    // A product that one read did not list keeps its state until it counts as removed.
    guard !product.isMissing else { return }
    let fulfilled = try rows(
      "SELECT wish FROM wish_matches WHERE store = ?1 AND market = ?2 AND product = ?3",
      [.integer(store), .text(market.text), .integer(product.row)]
    ).compactMap { byNumber[$0] }
    var subjects = product.isRemoved ? [] : byProduct[product.id] ?? []
    if !product.isRemoved { subjects += bySearch.matches(product.foldedTitle) }
    for index in Set(fulfilled).subtracting(subjects).sorted() { try end(wishes[index].wish, product) }
    for index in subjects where isChanged || wishes[index].isFull {
      let was = fulfilled.contains(index)
      switch (was, try fulfilment(wishes[index].wish, product, was: was)) {
      case (true, nil): try end(wishes[index].wish, product)
      case (false, let match?): try begin(index, product, match)
      default: break
      }
    }
  }

  private func fulfilment(_ wish: WishRecord, _ product: ProductFacts, was: Bool) throws -> WishFulfilment? {
    if case .newMatch = wish.condition {
      guard was || arrivals.contains(product.id) else { return nil }
    }
    return try WishFulfilment(
      of: wish, product, was: was, goneAfter: rules.readsUntilRemoved, at: now, in: transaction)
  }

  private func end(_ wish: WishRecord, _ product: ProductFacts) throws {
    try transaction.execute(
      "DELETE FROM wish_matches WHERE store = ?1 AND market = ?2 AND product = ?3 AND wish = ?4",
      [.integer(store), .text(market.text), .integer(product.row), .integer(wish.no)])
  }

  private mutating func begin(_ index: Int, _ product: ProductFacts, _ match: WishFulfilment) throws {
    let wish = wishes[index].wish
    let count = try wishes[index].matches ?? count(wish)
    wishes[index].matches = count
    if count < WishRows.mostMatches {
      wishes[index].matches = count + 1
      try transaction.execute(
        "INSERT INTO wish_matches (store, market, product, wish, since) VALUES (?1, ?2, ?3, ?4, ?5)",
        [.integer(store), .text(market.text), .integer(product.row), .integer(wish.no), .date(now)])
    } else if wish.condition != .newMatch {
      return try overflow(index)
    }  // A new product is news once, also if it is not recorded.
    if wishes[index].newsCount == 0 {
      try transaction.execute(
        "UPDATE wishes SET last_true_at = ?2 WHERE no = ?1", [.integer(wish.no), .date(now)])
    }
    wishes[index].newsCount += 1
    guard !wishes[index].isBaseline, wishes[index].newsCount <= Self.mostNewsPerWish, news.count < Self.mostNews,
      try !isTold(wish, product)
    else { return }
    news.append(
      DetectedChange(
        type: .wishFulfilled, productID: product.id, productTitle: product.title, variantID: match.variant?.id,
        variantTitle: match.variant?.shownTitle, newPrice: match.price,
        newText: try match.text(of: wish, product, currency: market.currency, in: transaction), wishID: wish.id))
  }

  /// Whether a wish came true in another market since the last read of this one, which was reported, and is true there
  /// still.
  private func isTold(_ wish: WishRecord, _ product: ProductFacts) throws -> Bool {
    guard let returnsFrom else { return false }
    return try transaction.query(
      """
      SELECT 1 FROM wish_matches AS m WHERE m.wish = ?1 AND m.store = ?2 AND m.product = ?3 AND m.market <> ?4
        AND m.since > ?5 AND EXISTS (
          SELECT 1 FROM events AS e WHERE e.wish = ?6 AND e.product = ?7 AND e.at = m.since) LIMIT 1
      """,
      [
        .integer(wish.no), .integer(store), .integer(product.row), .text(market.text), .date(returnsFrom),
        .text(wish.id.uuidString), .integer(product.id),
      ]
    ) { _ in true }.first ?? false
  }

  /// Records that more products fulfil a wish than are recorded.
  private mutating func overflow(_ index: Int) throws {
    wishes[index].isBaseline = true
    try transaction.execute(
      "UPDATE wish_markets SET overflows = 1 WHERE store = ?1 AND market = ?2 AND wish = ?3",
      [.integer(store), .text(market.text), .integer(wishes[index].wish.no)])
  }

  private func count(_ wish: WishRecord) throws -> Int {
    try transaction.query(
      "SELECT count(*) FROM wish_matches WHERE wish = ?1 AND store = ?2 AND market = ?3",
      [.integer(wish.no), .integer(store), .text(market.text)]
    ) { Int($0.integer(0)) }[0]
  }

  // MARK: Markets

  /// Carries the judgements over when a shop begins or stops to state its currency, which is no change of market.
  static func rename(from old: Market, to new: Market, store: Int64, in transaction: SQLiteDatabase.Transaction) throws
  {
    guard old != new else { return }
    let names: [SQLiteValue] = [.integer(store), .text(old.text), .text(new.text)]
    for table in ["wish_markets", "wish_matches"] {
      try transaction.execute("UPDATE OR REPLACE \(table) SET market = ?3 WHERE store = ?1 AND market = ?2", names)
    }
    // A price that was wished in an unstated currency is in the one that is stated first.
    guard old.currency == nil else { return }
    try transaction.execute(
      "UPDATE wishes SET currency = ?2 WHERE store = ?1 AND condition = 1 AND currency IS NULL",
      [.integer(store), .optional(new.currency)])
  }
}
