import CofferSQLite
public import Foundation

/// A filter of events. A property that is `nil` matches all events.
public struct EventFilter: Codable, Hashable, Sendable {
  /// The store of the events.
  public var storeId: UUID?
  /// The kinds of changes.
  public var changeTypes: [ChangeType]?
  /// The earliest date of the events.
  public var startDate: Date?
  /// Whether only unread events match.
  public var unreadOnly: Bool

  /// Creates a filter.
  public init(
    storeId: UUID? = nil, changeTypes: [ChangeType]? = nil, startDate: Date? = nil, unreadOnly: Bool = false
  ) {
    self.storeId = storeId
    self.changeTypes = changeTypes
    self.startDate = startDate
    self.unreadOnly = unreadOnly
  }
}

/// The database rows of events.
enum EventRows {
  /// Inserts the changes of one sync as events; returns the events with their rows, in the order of the changes.
  static func insert(
    _ news: [DetectedChange], store: StoreRecord, currency: String?, at now: Date,
    in transaction: SQLiteDatabase.Transaction
  ) throws -> [(row: Int64, event: ChangeEventDTO)] {
    struct Piece: Hashable {
      var type: ChangeType
      var product: Int64
    }
    var pieces: Set<Piece> = []
    var counts: [ChangeType: Int64] = [:]
    var start: UInt8 = 0
    let events = try news.enumerated().map { number, change in
      // A thousand ids begin with the same byte. Otherwise each would change another page of their index.
      if number.isMultiple(of: 1_000) { start = .random(in: .min ... .max) }
      let id = id(beginningWith: start)
      let isFirst = change.productID.map { pieces.insert(Piece(type: change.type, product: $0)).inserted } ?? true
      if isFirst { counts[change.type, default: 0] += 1 }
      // With a trigger or `RETURNING`, SQLite would copy each page that the statement changes.
      try transaction.execute(
        """
        INSERT INTO events (id, store, at, type, magnitude, product, product_title, variant, variant_title, old_price,
          new_price, currency, old_text, new_text, is_unsure, is_first, wish)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)
        """,
        [
          .text(id.uuidString), .integer(store.no), .date(now), .integer(change.type.code),
          .text(change.magnitude.rawValue), .optional(change.productID), .text(change.productTitle),
          .optional(change.variantID), .optional(change.variantTitle), .optional(change.oldPrice),
          .optional(change.newPrice), .optional(currency), .optional(change.oldText), .optional(change.newText),
          .flag(change.isUnsure), .flag(isFirst), .optional(change.wishID?.uuidString),
        ])
      return (transaction.lastInsertedRowID, event(id, change, store, currency, now))
    }
    for (type, count) in counts {
      try transaction.execute(
        "INSERT INTO unread VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET count = count + ?3",
        [.integer(store.no), .integer(type.code), .integer(count)])
    }
    return events
  }

  private static func id(beginningWith start: UInt8) -> UUID {
    var bytes = UUID().uuid
    bytes.0 = start
    return UUID(uuid: bytes)
  }

  private static func event(
    _ id: UUID, _ change: DetectedChange, _ store: StoreRecord, _ currency: String?, _ now: Date
  ) -> ChangeEventDTO {
    var event = ChangeEventDTO(
      id: id, changeType: change.type, productTitle: change.productTitle, variantTitle: change.variantTitle,
      magnitude: change.magnitude, productShopifyId: change.productID, variantShopifyId: change.variantID,
      occurredAt: now, storeId: store.id, storeName: store.name, currency: currency, isUnsure: change.isUnsure,
      wishId: change.wishID)
    event.tell(change.oldPrice, change.newPrice, change.oldText, change.newText)
    return event
  }

  // MARK: Queries

  /// Returns a page of events, newest first. The cost depends on `offset` and `limit`, not on the number of events.
  static func page(
    _ filter: EventFilter, offset: Int, limit: Int, in transaction: some Querying
  ) throws -> [ChangeEventDTO] {
    guard let scope = try Scope(filter, transaction) else { return [] }
    let (sum, isTooLarge) = offset.addingReportingOverflow(limit)
    let last = isTooLarge ? Int.max : sum
    // Each type is a range of the index; one query for several types would have to sort them all.
    let parts = scope.types.map { type in
      """
      SELECT * FROM (SELECT row FROM events \(scope.condition(type))
      ORDER BY row DESC LIMIT \(last))
      """
    }
    return try read(
      "\(parts.joined(separator: " UNION ALL ")) ORDER BY row DESC LIMIT \(limit) OFFSET \(offset)", [], transaction)
  }

  /// Returns the events whose rows a query selects, in its order.
  static func read(
    _ rows: String, _ arguments: [SQLiteValue], _ transaction: some Querying
  ) throws -> [ChangeEventDTO] {
    try transaction.query(
      """
      SELECT e.id, e.type, e.product_title, e.variant_title, e.magnitude, e.product, e.variant, e.at, e.is_read, s.id,
        s.name, e.currency, e.old_price, e.new_price, e.old_text, e.new_text,
        (SELECT p.images FROM products AS p WHERE p.store = e.store AND p.id = e.product), e.is_unsure,
        e.wish
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
        currency: row.optionalText(11), isUnsure: row.flag(17),
        wishId: row.optionalText(18).flatMap(UUID.init(uuidString:)))
      event.tell(row.optionalPrice(12), row.optionalPrice(13), row.optionalText(14), row.optionalText(15))
      return event
    }
  }

  /// Returns the identifiers that belong to stored events.
  static func known(_ ids: [UUID], in transaction: some Querying) throws -> Set<UUID> {
    Set(
      try transaction.query("SELECT id FROM events WHERE row IN (\(rows(of: ids)))", []) { $0.text(0) }
        .compactMap(UUID.init(uuidString:)))
  }

  /// Returns a query for the rows of events. Identifiers have only hexadecimal digits and hyphens.
  static func rows(of ids: some Collection<UUID>) -> String {
    let list = ids.map { "'\($0.uuidString)'" }.joined(separator: ", ")
    return "SELECT row FROM events WHERE id IN (\(list))"
  }

  /// Marks the events that match a filter as read.
  static func markRead(_ filter: EventFilter, in transaction: SQLiteDatabase.Transaction) throws {
    guard let scope = try Scope(filter, transaction) else { return }
    for type in scope.types {
      let unread = scope.condition(type, unreadOnly: true)
      try transaction.execute(
        "UPDATE events SET is_read = 1 WHERE row IN (SELECT row FROM events \(unread)) AND is_read = ?1", [0])
    }
  }

  /// Marks one event as read. The first event of a change stands for it in the counts: if it is this one, a sibling
  /// that is still unread becomes the first.
  static func markRead(_ id: UUID, in transaction: SQLiteDatabase.Transaction) throws {
    try transaction.execute(
      """
      WITH pair AS (
        SELECT own.row AS own, other.row AS other FROM events AS own CROSS JOIN events AS other
          ON other.store = own.store AND other.product = own.product AND other.at = own.at AND other.type = own.type
        WHERE own.id = ?1 AND own.is_first = 1 AND own.is_read = 0 AND other.row <> own.row AND other.is_read = 0
        LIMIT 1)
      UPDATE events SET is_first = 1 - is_first
      WHERE row IN (SELECT own FROM pair UNION ALL SELECT other FROM pair)
      """, [.text(id.uuidString)])
    try transaction.execute("UPDATE events SET is_read = 1 WHERE id = ?1 AND is_read = 0", [.text(id.uuidString)])
  }

  /// Returns the number of unread events.
  static func unreadEvents(in transaction: some Querying) throws -> Int {
    try transaction.query("SELECT count(*) FROM events WHERE is_read = 0", []) { Int($0.integer(0)) }[0]
  }

  /// Returns the number of unread changes that match a filter. Events of one kind and one product in one sync count
  /// once.
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

/// A filter translated to SQL conditions.
private struct Scope {
  var store: Int64?
  /// The types to query one by one; a single `nil` for all types at once.
  var types: [Int64?]
  /// The first row that may be at or after `start`, in milliseconds since 1970; `nil` without a start date.
  var firstRow: Int64?
  var start: Int64 = 0
  var unreadOnly: Bool

  /// Creates a scope; `nil` if no event can match.
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
      // Rows are in the order of time, except for a few that two processes wrote at the same time.
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
    // Without the hint, SQLite searches for the few unread events among all others.
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
  /// Sets the old and new values, as prices and as text.
  mutating func tell(_ old: Price?, _ new: Price?, _ oldText: String?, _ newText: String?) {
    oldPrice = old?.decimal
    newPrice = new?.decimal
    oldValue = oldText ?? old.map { Money.text($0.decimal, currency) }
    newValue = newText ?? new.map { Money.text($0.decimal, currency) }
    if let old, let new, changeType.isPrice { priceChange = (new - old).decimal }
  }
}
