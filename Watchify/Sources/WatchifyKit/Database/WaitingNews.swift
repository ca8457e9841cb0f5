import CofferDatabase

/// Withdraws undelivered events that are out of date. Events that a channel has claimed are not withdrawn.
struct WaitingNews {
  private let store: Int64
  private let transaction: SQLiteTransaction
  /// Whether the store has no undelivered events, which is usual; further queries are skipped then.
  private let isEmpty: Bool

  init(of store: Int64, in transaction: SQLiteTransaction) throws {
    (self.store, self.transaction) = (store, transaction)
    isEmpty = try transaction.query(
      "SELECT EXISTS (SELECT 1 FROM outbox WHERE store = ?1 AND claim IS NULL)", [.integer(store)]
    ) { !$0.flag(0) }[0]
  }

  private struct Piece {
    var row: Int64
    var channel: String
    var type: ChangeType?
    var old: Price?
  }

  // MARK: Withdrawal

  /// Deletes the undelivered events that a new event contradicts.
  /// - Returns: The channels for which the event itself need not be delivered, because it restores the price last
  ///   notified.
  func withdraw(contradicting event: ChangeEventDTO) throws -> [String] {
    guard !isEmpty, let product = event.productShopifyId else { return [] }
    switch event.changeType {
    case .productRemoved: try remove(pieces(product))
    case .productReturned: try remove(pieces(product).filter { $0.type == .productRemoved })
    case .priceDropped, .priceIncreased:
      guard let variant = event.variantShopifyId else { break }
      let opposite = event.changeType == .priceDropped ? ChangeType.priceIncreased : .priceDropped
      let prices = try pieces(product, variant).filter { $0.type == opposite || $0.type == event.changeType }
      guard prices.contains(where: { $0.type == opposite }) else { break }
      try remove(prices)
      // The oldest event starts from the notified price.
      let known = Dictionary(prices.map { ($0.channel, $0.old) }) { first, _ in first }
      return known.filter { $0.value != nil && $0.value?.decimal == event.newPrice }.map(\.key)
    default: break
    }
    return []
  }

  /// Records that a variant is no longer listed: it counts as out of stock without a notification, so that its return
  /// is notified.
  func lose(_ variant: Int64, of product: Int64) throws {
    if !isEmpty { try remove(pieces(product, variant).filter { $0.type != .outOfStock }) }
    try transaction.execute(
      "UPDATE told_stock SET is_available = 0 WHERE store = ?1 AND product = ?2 AND variant = ?3",
      [.integer(store), .integer(product), .integer(variant)])
  }

  // MARK: Rows

  /// Returns the undelivered events of a product, or of one of its variants, oldest first.
  private func pieces(_ product: Int64, _ variant: Int64? = nil) throws -> [Piece] {
    try transaction.query(
      """
      SELECT e.row, o.channel, e.type, e.old_price FROM events AS e CROSS JOIN outbox AS o ON o.event = e.row
      WHERE e.store = ?1 AND e.product = ?2 \(variant == nil ? "" : "AND e.variant = ?3") AND o.claim IS NULL
      ORDER BY e.row
      """, [.integer(store), .integer(product)] + (variant.map { [.integer($0)] } ?? [])
    ) {
      Piece(
        row: $0.integer(0), channel: $0.text(1), type: ChangeType(code: $0.integer(2)), old: $0.optionalPrice(3))
    }
  }

  private func remove(_ pieces: [Piece]) throws {
    for piece in pieces {
      if piece.type?.isStock == true {
        // If none was ever notified, the stock before the event counts as notified.
        try transaction.execute(
          """
          INSERT OR IGNORE INTO told_stock SELECT store, product, variant, type <> 3, NULL FROM events
          WHERE row = ?1 AND variant IS NOT NULL
          """, [.integer(piece.row)])
      }
      try transaction.execute(
        "DELETE FROM outbox WHERE channel = ?1 AND event = ?2 AND claim IS NULL",
        [.text(piece.channel), .integer(piece.row)])
    }
  }
}
