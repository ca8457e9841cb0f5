import CofferSQLite
import Foundation

/// A wish as a database row.
struct WishRecord: Sendable {
  var no: Int64
  var id: UUID
  var store: Int64?
  var product: Int64?
  var variant: Int64?
  var search: String?
  var condition: WishCondition
  var currency: String?
  var createdAt: Date
  /// The date whose price a percentage refers to.
  var baseAt: Date
  var expiresAt: Date?

  /// Whether the condition can be judged by prices in a currency. A missing currency is taken to be the same.
  func isJudged(by served: String?) -> Bool {
    guard case .priceAtMost = condition, let currency, let served else { return true }
    return currency == served
  }

  func isExpired(at now: Date) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

/// The database rows of wishes.
enum WishRows {
  /// The maximum number of wishes, so that a sync is judged in bounded time.
  static let most = 1_000
  /// The maximum number of products of one store that are recorded as fulfilling one wish.
  static let mostMatches = 5_000

  private static let columns = """
    w.no, w.id, w.store, w.product, w.variant, w.search, w.condition, w.amount, w.currency, w.created_at, w.expires_at,
    w.base_at
    """

  static func all(
    _ condition: String = "", _ arguments: [SQLiteValue] = [], in transaction: some Querying
  ) throws -> [WishRecord] {
    try transaction.query("SELECT \(columns) FROM wishes AS w \(condition) ORDER BY w.no", arguments, record)
      .compactMap { $0 }
  }

  static func find(_ id: UUID, in transaction: some Querying) throws -> WishRecord? {
    try all("WHERE w.id = ?1", [.text(id.uuidString)], in: transaction).first
  }

  private static func record(_ row: SQLiteRow) -> WishRecord? {
    let condition: WishCondition
    switch row.integer(6) {
    case 1: condition = .priceAtMost(row.price(7).decimal)
    case 2: condition = .percentOff(Int(row.integer(7)))
    case 3: condition = .backInStock
    case 4: condition = .newMatch
    default: return nil
    }
    return WishRecord(
      no: row.integer(0), id: UUID(uuidString: row.text(1)) ?? UUID(), store: row.optionalInteger(2),
      product: row.optionalInteger(3), variant: row.optionalInteger(4), search: row.optionalText(5),
      condition: condition, currency: row.optionalText(8), createdAt: row.date(9), baseAt: row.date(11),
      expiresAt: row.optionalDate(10))
  }

  /// Returns the values of the columns `condition` and `amount`.
  static func values(_ condition: WishCondition) throws -> [SQLiteValue] {
    switch condition {
    case .priceAtMost(let amount):
      guard let price = Price("\(amount)"), price > .zero else { throw WishError.invalidPrice }
      return [1, .price(price)]
    case .percentOff(let percent):
      guard (1...99).contains(percent) else { throw WishError.invalidPercentage }
      return [2, .integer(Int64(percent))]
    case .backInStock: return [3, .null]
    case .newMatch: return [4, .null]
    }
  }

  /// Inserts a wish.
  static func insert(_ wish: WishRecord, in transaction: SQLiteDatabase.Transaction) throws -> WishRecord {
    var wish = wish
    wish.no = try transaction.query(
      """
      INSERT INTO wishes (id, store, product, variant, search, currency, created_at, expires_at, base_at, condition,
        amount)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) RETURNING no
      """,
      [
        .text(wish.id.uuidString), .optional(wish.store), .optional(wish.product), .optional(wish.variant),
        .optional(wish.search), .optional(wish.currency), .date(wish.createdAt),
        wish.expiresAt.map { .date($0) } ?? .null, .date(wish.baseAt),
      ] + values(wish.condition)
    ) { $0.integer(0) }[0]
    return wish
  }

  /// Returns another wish with the same scope and condition.
  static func twin(of wish: WishRecord, in transaction: some Querying) throws -> WishRecord? {
    try all(
      """
      WHERE w.store IS ?1 AND w.product IS ?2 AND w.variant IS ?3 AND w.search IS ?4 AND w.currency IS ?5
        AND w.condition = ?6 AND w.amount IS ?7 AND w.id <> ?8
      """,
      [
        .optional(wish.store), .optional(wish.product), .optional(wish.variant), .optional(wish.search),
        .optional(wish.currency),
      ] + values(wish.condition) + [.text(wish.id.uuidString)], in: transaction
    ).first
  }

  /// Deletes the judgements of a wish, so that the next one is a baseline, and its undelivered news.
  static func forget(_ wish: WishRecord, in transaction: SQLiteDatabase.Transaction) throws {
    for table in ["wish_markets", "wish_matches"] {
      try transaction.execute("DELETE FROM \(table) WHERE wish = ?1", [.integer(wish.no)])
    }
    try transaction.execute(
      "DELETE FROM outbox WHERE event IN (SELECT row FROM events WHERE wish = ?1)",
      [.text(wish.id.uuidString)])
  }

  static func delete(_ wish: WishRecord, in transaction: SQLiteDatabase.Transaction) throws {
    try forget(wish, in: transaction)
    try transaction.execute("DELETE FROM shown WHERE thread = ?1", [.text(wish.id.uuidString)])
    try transaction.execute("DELETE FROM wishes WHERE no = ?1", [.integer(wish.no)])
  }

  /// Returns the date before which no price point may be deleted but the last: a percentage is judged by the price at
  /// the time when it was wished.
  static func oldestBase(in transaction: some Querying) throws -> Date? {
    try transaction.query("SELECT min(base_at) FROM wishes WHERE condition = 2", []) { $0.optionalDate(0) }[0]
  }

  // MARK: Notifications

  /// Returns the date from which an event of a wish may be delivered: a wish about a product is notified at most once
  /// in some hours, however often it comes true. `nil` if the event is not about a wish.
  static func turn(
    _ event: ChangeEventDTO, store: Int64, _ preferences: NotificationPreferences, _ now: Date,
    _ transaction: SQLiteDatabase.Transaction
  ) throws -> Date? {
    guard let wish = event.wishId, let product = event.productShopifyId else { return nil }
    let told = try transaction.query(
      "SELECT max(notified_at) FROM events WHERE wish = ?1 AND store = ?2 AND product = ?3",
      [.text(wish.uuidString), .integer(store), .integer(product)]
    ) { $0.optionalDate(0) }[0]
    // A date in the future means that the clock was set back.
    guard let told, told <= now else { return .distantPast }
    return told.addingTimeInterval(3_600 * Double(min(24, max(0, preferences.stockQuietHours))))
  }
}
