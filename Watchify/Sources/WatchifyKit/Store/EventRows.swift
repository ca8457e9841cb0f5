import CofferDatabase
public import Foundation

/// Which events are meant; what is `nil` does not matter.
public struct EventFilter: Codable, Hashable, Sendable {
  /// Only those of this store.
  public var storeId: UUID?
  /// Only those of these kinds.
  public var changeTypes: [ChangeType]?
  /// Only those from this moment on.
  public var startDate: Date?
  /// Only those that nobody has read.
  public var unreadOnly: Bool

  /// A filter.
  public init(
    storeId: UUID? = nil, changeTypes: [ChangeType]? = nil, startDate: Date? = nil, unreadOnly: Bool = false
  ) {
    self.storeId = storeId
    self.changeTypes = changeTypes
    self.startDate = startDate
    self.unreadOnly = unreadOnly
  }
}

/// Reads and writes events.
enum EventRows {
  /// Writes the news of one sync and returns the rows, in the order of the news.
  static func insert(
    _ news: [DetectedChange], store: StoreRecord, currency: String?, at now: Date, in transaction: SQLiteTransaction
  ) throws -> [(row: Int64, event: ChangeEventDTO)] {
    struct Piece: Hashable {
      var type: ChangeType
      var product: Int64
    }
    var pieces: Set<Piece> = []
    return try news.map { change in
      let id = UUID()
      let isFirst = change.productID.map { pieces.insert(Piece(type: change.type, product: $0)).inserted } ?? true
      let row = try transaction.query(
        """
        INSERT INTO events (id, store, at, type, magnitude, product, product_title, variant, variant_title, old_price,
          new_price, currency, old_text, new_text, is_unsure, is_first)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) RETURNING row
        """,
        [
          .text(id.uuidString), .integer(store.no), .date(now), .integer(change.type.code),
          .text(change.magnitude.rawValue), .optional(change.productID), .text(change.productTitle),
          .optional(change.variantID), .optional(change.variantTitle), .optional(change.oldPrice),
          .optional(change.newPrice), .optional(currency), .optional(change.oldText), .optional(change.newText),
          .flag(change.isUnsure), .flag(isFirst),
        ]
      ) { $0.integer(0) }[0]
      return (row, event(id, change, store, currency, now))
    }
  }

  private static func event(
    _ id: UUID, _ change: DetectedChange, _ store: StoreRecord, _ currency: String?, _ now: Date
  ) -> ChangeEventDTO {
    var event = ChangeEventDTO(
      id: id, changeType: change.type, productTitle: change.productTitle, variantTitle: change.variantTitle,
      magnitude: change.magnitude, productShopifyId: change.productID, variantShopifyId: change.variantID,
      occurredAt: now, storeId: store.id, storeName: store.name, currency: currency, isUnsure: change.isUnsure)
    event.tell(change.oldPrice, change.newPrice, change.oldText, change.newText)
    return event
  }

  // MARK: Asking

  /// Events, newest first. However many there are, a page of them costs the same.
  static func page(
    _ filter: EventFilter, offset: Int, limit: Int, in transaction: some Querying
  ) throws -> [ChangeEventDTO] {
    guard let scope = try Scope(filter, transaction) else { return [] }
    let (sum, isTooLarge) = offset.addingReportingOverflow(limit)
    let last = isTooLarge ? Int.max : sum
    // Each type has its own place in the index; one question for several would have to sort them all.
    let parts = scope.types.map { type in
      """
      SELECT * FROM (SELECT row FROM events \(scope.condition(type))
      ORDER BY row DESC LIMIT \(last))
      """
    }
    return try read(
      "\(parts.joined(separator: " UNION ALL ")) ORDER BY row DESC LIMIT \(limit) OFFSET \(offset)", [], transaction)
  }

  /// Events by a query for their rows, in its order.
  static func read(
    _ rows: String, _ arguments: [SQLiteValue], _ transaction: some Querying
  ) throws -> [ChangeEventDTO] {
    try transaction.query(
      """
      SELECT e.id, e.type, e.product_title, e.variant_title, e.magnitude, e.product, e.variant, e.at, e.is_read, s.id,
        s.name, e.currency, e.old_price, e.new_price, e.old_text, e.new_text,
        (SELECT p.images FROM products AS p WHERE p.store = e.store AND p.id = e.product), e.is_unsure
      FROM (\(rows)) AS chosen CROSS JOIN events AS e ON e.row = chosen.row CROSS JOIN stores AS s ON s.no = e.store
      """, arguments
    ) { row in
      var event = ChangeEventDTO(
        id: UUID(uuidString: row.text(0)) ?? UUID(), changeType: ChangeType(code: row.integer(1)) ?? .imagesChanged,
        productTitle: row.text(2), variantTitle: row.optionalText(3),
        magnitude: ChangeMagnitude(rawValue: row.text(4)) ?? .medium, productShopifyId: row.optionalInteger(5),
        variantShopifyId: row.optionalInteger(6),
        productImageURL: row.optionalText(16).flatMap { CatalogueRows.images($0).first }, occurredAt: row.date(7),
        isRead: row.flag(8), storeId: UUID(uuidString: row.text(9)), storeName: row.text(10),
        currency: row.optionalText(11), isUnsure: row.flag(17))
      event.tell(row.optionalPrice(12), row.optionalPrice(13), row.optionalText(14), row.optionalText(15))
      return event
    }
  }

  /// Marks what a filter shows, and nothing else, as read.
  static func markRead(_ filter: EventFilter, in transaction: SQLiteTransaction) throws {
    guard let scope = try Scope(filter, transaction) else { return }
    for type in scope.types {
      let unread = scope.condition(type, unreadOnly: true)
      try transaction.execute(
        "UPDATE events SET is_read = 1 WHERE row IN (SELECT row FROM events \(unread)) AND is_read = ?1", [0])
    }
  }

  /// How many unread pieces of news a filter shows: those of one kind and one product in one read are one.
  static func unreadCount(_ filter: EventFilter, in transaction: some Querying) throws -> Int {
    guard let scope = try Scope(filter, transaction) else { return 0 }
    guard scope.firstRow == nil else {
      return try scope.types.reduce(0) { sum, type in
        sum
          + (try transaction.query(
            "SELECT count(*) FROM events \(scope.condition(type, unreadOnly: true)) AND is_first = 1", []
          ) { Int($0.integer(0)) })[0]
      }
    }
    var conditions = ["1"]
    if let store = scope.store { conditions.append("store = \(store)") }
    if filter.changeTypes != nil {
      conditions.append("type IN (\(scope.types.map { String($0 ?? 0) }.joined(separator: ", ")))")
    }
    return try transaction.query(
      "SELECT coalesce(sum(count), 0) FROM unread WHERE \(conditions.joined(separator: " AND "))", []
    ) { Int($0.integer(0)) }[0]
  }
}

/// A filter in the database's terms.
private struct Scope {
  var store: Int64?
  /// The types to ask for one by one; one `nil` for all of them at once.
  var types: [Int64?]
  /// The first row of the time that is asked for, and that time in milliseconds.
  var firstRow: Int64?
  var start: Int64 = 0
  var unreadOnly: Bool

  /// `nil` when nothing can match.
  init?(_ filter: EventFilter, _ transaction: some Querying) throws {
    if let id = filter.storeId {
      guard let store = try StoreRecord.find(id, in: transaction) else { return nil }
      self.store = store.no
    }
    types = filter.changeTypes.map { Array(Set($0.map(\.code))).sorted() } ?? [nil]
    guard !types.isEmpty else { return nil }
    if let start = filter.startDate {
      let row = try transaction.query(
        "SELECT row FROM events WHERE at >= ?1 ORDER BY at, row LIMIT 1", [.date(start)]
      ) { $0.integer(0) }.first
      guard let row else { return nil }
      // Rows are in the order of time but for a few, which two processes have written at once.
      firstRow = row - 1_000
      self.start = start.milliseconds
    }
    unreadOnly = filter.unreadOnly
  }

  func condition(_ type: Int64?, unreadOnly isUnread: Bool = false) -> String {
    let isUnread = isUnread || unreadOnly
    var conditions: [String] = []
    if let store { conditions.append("store = \(store)") }
    if let type { conditions.append("type = \(type)") }
    if let firstRow { conditions.append("row >= \(firstRow) AND at >= \(start)") }
    if isUnread { conditions.append("is_read = 0") }
    let condition = "WHERE " + (conditions.isEmpty ? "1" : conditions.joined(separator: " AND "))
    guard isUnread else { return condition }
    // Left to itself SQLite looks for the few unread ones among all the others.
    let index =
      switch (store, type) {
      case (nil, nil): "events_unread_rows"
      case (nil, _): "events_unread_by_type"
      case (_, nil): "events_unread_by_store_only"
      case (_, _): "events_unread_by_store"
      }
    return "INDEXED BY \(index) \(condition)"
  }
}

extension ChangeEventDTO {
  /// Says what was and what is, in words.
  mutating func tell(_ old: Price?, _ new: Price?, _ oldText: String?, _ newText: String?) {
    oldPrice = old?.decimal
    newPrice = new?.decimal
    oldValue = oldText ?? old.map { Money.text($0.decimal, currency) }
    newValue = newText ?? new.map { Money.text($0.decimal, currency) }
    if let old, let new, changeType.isPrice { priceChange = (new - old).decimal }
  }
}
