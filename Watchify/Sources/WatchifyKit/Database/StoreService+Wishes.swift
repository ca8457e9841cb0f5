import CofferSQLite
public import Foundation

/// Wishes.
extension StoreService {
  /// Returns the wishes, newest first.
  /// - Parameters:
  ///   - storeId: the store: its own wishes and the searches in all stores; `nil` for all wishes.
  ///   - productId: the product, for the wishes about it and its variants; `nil` for all of the store.
  /// - Throws: `StorageError`.
  public func wishes(storeId: UUID? = nil, productId: Int64? = nil) async throws -> [WishDTO] {
    let now = now()
    return try await database.read { transaction in
      guard let storeId else { return try WishRows.read("", [], at: now, in: transaction) }
      guard let store = try StoreRecord.find(storeId, in: transaction) else { return [] }
      guard let productId else {
        let condition = "WHERE w.store IS NULL OR w.store = ?1"
        return try WishRows.read(condition, [.integer(store.no)], at: now, in: transaction)
      }
      return try WishRows.read(
        "WHERE w.store = ?1 AND w.product = ?2", [.integer(store.no), .integer(productId)], at: now, in: transaction)
    }
  }

  /// Returns a wish; `nil` if there is none.
  /// - Throws: `StorageError`.
  public func wish(id: UUID) async throws -> WishDTO? {
    let now = now()
    return try await database.read {
      try WishRows.read("WHERE w.id = ?1", [.text(id.uuidString)], at: now, in: $0).first
    }
  }

  /// Makes a wish. It is judged at once; if it is true already, the result says so and nothing is notified until it has
  /// been false. An expired wish with the same scope and condition is replaced.
  /// - Parameters:
  ///   - scope: what the wish is about.
  ///   - condition: what must hold.
  ///   - expiresAt: the date from which it is no longer judged; `nil` if it does not expire.
  ///   - currency: the currency of a price; that of the stores if `nil`.
  /// - Returns: The wish, with its state.
  /// - Throws: ``WishError``, `StorageError`. Nothing is stored then.
  public func addWish(
    _ scope: WishScope, _ condition: WishCondition, expiresAt: Date? = nil, currency: String? = nil
  ) async throws -> WishDTO {
    let now = now()
    if let expiresAt, expiresAt <= now { throw WishError.expired }
    return try await database.write { transaction in
      var wish = try Self.record(scope, condition, in: transaction)
      (wish.createdAt, wish.baseAt, wish.expiresAt) = (now, now, expiresAt)
      wish.currency = try Self.currency(of: wish, given: currency, in: transaction)
      if let twin = try WishRows.twin(of: wish, in: transaction) {
        guard twin.isExpired(at: now) else { throw WishError.exists(twin.id) }
        try WishRows.delete(twin, in: transaction)
      }
      let count = try transaction.query("SELECT count(*) FROM wishes", []) { Int($0.integer(0)) }[0]
      guard count < WishRows.most else { throw WishError.tooMany }
      let stored = try WishRows.insert(wish, in: transaction)
      try Self.begin(stored, at: now, in: transaction)
      return try WishRows.dto(of: stored, at: now, in: transaction)
    }
  }

  /// Changes the condition and the expiration date of a wish. A changed condition is judged like that of a new wish. A
  /// changed percentage still refers to the same price; one that replaces another condition, to the price now.
  /// - Returns: The wish, with its state.
  /// - Throws: ``WishError``, `StorageError`. The wish is unchanged then.
  public func editWish(
    id: UUID, condition: WishCondition, expiresAt: Date?, currency: String? = nil
  ) async throws -> WishDTO {
    let now = now()
    return try await database.write { transaction in
      guard let old = try WishRows.find(id, in: transaction) else { throw WishError.notFound }
      if let expiresAt, expiresAt <= now, expiresAt != old.expiresAt { throw WishError.expired }
      var wish = old
      (wish.condition, wish.expiresAt) = (condition, expiresAt)
      if case .newMatch = condition, wish.search == nil { throw WishError.needsSearch }
      if condition.isPercentage, !old.condition.isPercentage { wish.baseAt = now }
      if condition != old.condition || currency != nil {
        wish.currency = try Self.currency(of: wish, given: currency, in: transaction)
      }
      if let twin = try WishRows.twin(of: wish, in: transaction) { throw WishError.exists(twin.id) }
      try transaction.execute(
        "UPDATE wishes SET expires_at = ?2, currency = ?3, base_at = ?4, condition = ?5, amount = ?6 WHERE no = ?1",
        [
          .integer(wish.no), expiresAt.map { .date($0) } ?? .null, .optional(wish.currency), .date(wish.baseAt),
        ] + WishRows.values(condition))
      let isSame = condition == old.condition && wish.currency == old.currency
      // Reads during which the wish had expired have not been judged.
      if !isSame || old.isExpired(at: now) {
        try WishRows.forget(wish, in: transaction)
        try Self.begin(wish, at: now, in: transaction)
      }
      return try WishRows.dto(of: wish, at: now, in: transaction)
    }
  }

  /// Deletes a wish with its undelivered news. An unknown id is ignored.
  /// - Throws: `StorageError`.
  public func removeWish(id: UUID) async throws {
    try await database.write { transaction in
      guard let wish = try WishRows.find(id, in: transaction) else { return }
      try WishRows.delete(wish, in: transaction)
    }
  }

  /// Returns the listed products that a wish is about: for a search all that match its text, first those that fulfil
  /// the wish, then by title.
  /// - Throws: ``WishError/notFound``, `StorageError`.
  public func wish(matches id: UUID, offset: Int = 0, limit: Int = 50) async throws -> [WishMatchDTO] {
    let (now, offset, limit) = (now(), max(0, offset), max(0, limit))
    return try await database.read { transaction in
      guard let wish = try WishRows.find(id, in: transaction) else { throw WishError.notFound }
      var found: [(store: StoreRecord, row: Int64, isFulfilled: Bool)] = []
      for store in try StoreRecord.all("ORDER BY name COLLATE NOCASE, no", [], in: transaction)
      where wish.store == nil || wish.store == store.no {
        let isJudged = !wish.isExpired(at: now) && wish.isJudged(by: store.currency)
        found += try Self.subjects(wish, store, in: transaction).map { (store, $0.row, $0.isFulfilled && isJudged) }
      }
      let ordered = found.filter(\.isFulfilled) + found.filter { !$0.isFulfilled }
      return try ordered.dropFirst(offset).prefix(limit).compactMap { subject in
        try Self.listed("SELECT ?1 AS chosen", [.integer(subject.row)], subject.store, at: now, in: transaction).first
          .map {
            WishMatchDTO(
              listed: ListedProductDTO(storeId: subject.store.id, storeName: subject.store.name, product: $0),
              isFulfilled: subject.isFulfilled)
          }
      }
    }
  }

  /// Returns the times at which a wish came true, as events, newest first. They remain after the wish is removed.
  /// - Throws: `StorageError`.
  public func events(ofWish id: UUID, offset: Int = 0, limit: Int = 50) async throws -> [ChangeEventDTO] {
    let (offset, limit) = (max(0, offset), max(0, limit))
    return try await database.read {
      try EventRows.read(
        "SELECT row FROM events WHERE wish = ?1 ORDER BY row DESC LIMIT \(limit) OFFSET \(offset)",
        [.text(id.uuidString)], $0)
    }
  }

  private static func subjects(
    _ wish: WishRecord, _ store: StoreRecord, in transaction: some Querying
  ) throws -> [(row: Int64, isFulfilled: Bool)] {
    var (condition, arguments) = ProductQuery(storeId: store.id, searchText: wish.search ?? "").condition(store.no)
    if let product = wish.product {
      arguments.append(.integer(product))
      condition += " AND id = ?\(arguments.count)"
    }
    let own = arguments.count
    return try transaction.query(
      """
      SELECT row, EXISTS (SELECT 1 FROM wish_matches WHERE store = ?\(own + 1) AND market = ?\(own + 2)
        AND product = products.row AND wish = ?\(own + 3))
      FROM products \(condition) ORDER BY folded_title, row
      """, arguments + [.integer(store.no), .text(store.market?.text ?? ""), .integer(wish.no)]
    ) { ($0.integer(0), $0.flag(1)) }
  }

  // MARK: Validation

  private static func record(
    _ scope: WishScope, _ condition: WishCondition, in transaction: some Querying
  ) throws -> WishRecord {
    var wish = WishRecord(no: 0, id: UUID(), condition: condition, createdAt: .distantPast, baseAt: .distantPast)
    if let id = scope.storeId {
      guard let store = try StoreRecord.find(id, in: transaction) else { throw WishError.noSubject }
      wish.store = store.no
    }
    switch scope {
    case .search(_, let text): wish.search = try SearchWords.stored(text)
    case .product(_, let product): wish.product = product
    case .variant(_, let product, let variant): (wish.product, wish.variant) = (product, variant)
    }
    guard let store = wish.store, let product = wish.product else { return wish }
    if case .newMatch = condition { throw WishError.needsSearch }
    guard let facts = try ProductFacts.find(product, store: store, nil, in: transaction) else {
      throw WishError.noSubject
    }
    if let variant = wish.variant, try !facts.variants(in: transaction).contains(where: { $0.id == variant }) {
      throw WishError.noSubject
    }
    return wish
  }

  /// Returns the currency of a wished price.
  private static func currency(
    of wish: WishRecord, given: String?, in transaction: some Querying
  ) throws -> String? {
    guard case .priceAtMost = wish.condition else { return nil }
    if let given = given?.uppercased() {
      guard given.utf8.count == 3, given.utf8.allSatisfy({ UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 }) else {
        throw WishError.invalidPrice
      }
      return given
    }
    let own = wish.store.map { [SQLiteValue.integer($0)] } ?? []
    let served = try transaction.query(
      """
      SELECT DISTINCT currency FROM stores WHERE currency IS NOT NULL \(own.isEmpty ? "" : "AND no = ?1") ORDER BY 1
      """, own
    ) { $0.text(0) }
    guard served.count < 2 else { throw WishError.needsCurrency(served) }
    return served.first
  }

  /// Records what fulfils a wish now, without news.
  private static func begin(_ wish: WishRecord, at now: Date, in transaction: SQLiteDatabase.Transaction) throws {
    for store in try StoreRecord.all("", [], in: transaction) where wish.store == nil || wish.store == store.no {
      guard let market = store.market else { continue }
      var judge = WishJudge(store: store.no, market: market, at: now, in: transaction)
      try judge.begin(wish)
    }
  }
}
