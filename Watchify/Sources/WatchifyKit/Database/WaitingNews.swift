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
    /// The price that was notified last.
    var base: Price?
    var new: Price?
    var currency: String?

    /// Whether it reports a lower price than was notified; `nil` if it is not about a price.
    var isDrop: Bool? {
      guard let base, let new, type?.isPrice ?? false else { return nil }
      return new < base
    }
  }

  // MARK: Withdrawal

  /// Deletes the undelivered events that a new event contradicts.
  /// - Returns: For each channel with undelivered price changes that it contradicts, the price that was notified last:
  ///   the event is one since that price.
  func withdraw(contradicting event: ChangeEventDTO) throws -> [String: Price] {
    guard !isEmpty, let product = event.productShopifyId else { return [:] }
    switch event.changeType {
    case .productRemoved: try remove(pieces(product))
    case .productReturned: try remove(pieces(product).filter { $0.type == .productRemoved })
    case .priceDropped, .priceIncreased:
      guard let variant = event.variantShopifyId else { break }
      // Amounts of another currency cannot be compared.
      let prices = try pieces(product, variant).filter { $0.isDrop != nil && $0.currency == event.currency }
      let isDrop = event.changeType == .priceDropped
      let channels = Set(prices.filter { $0.isDrop != isDrop }.map(\.channel))
      let outdated = prices.filter { channels.contains($0.channel) }
      try remove(outdated)
      // The oldest event starts from the notified price.
      return Dictionary(outdated.compactMap { piece in piece.base.map { (piece.channel, $0) } }) { first, _ in first }
    default: break
    }
    return [:]
  }

  /// Records that a variant is no longer listed: it counts as out of stock without a notification, so that its return
  /// is notified.
  func lose(_ variant: Int64, of product: Int64) throws {
    if !isEmpty { try remove(pieces(product, variant).filter { $0.type != .outOfStock }) }
    try transaction.execute(
      "UPDATE channel_stock SET is_available = 0 WHERE store = ?1 AND product = ?2 AND variant = ?3",
      [.integer(store), .integer(product), .integer(variant)])
  }

  // MARK: Rows

  /// Returns the undelivered events of a product, or of one of its variants, oldest first.
  private func pieces(_ product: Int64, _ variant: Int64? = nil) throws -> [Piece] {
    try transaction.query(
      """
      SELECT e.row, o.channel, e.type, coalesce(o.base_price, e.old_price), e.new_price, e.currency
      FROM events AS e CROSS JOIN outbox AS o ON o.event = e.row
      WHERE e.store = ?1 AND e.product = ?2 \(variant == nil ? "" : "AND e.variant = ?3") AND o.claim IS NULL
      ORDER BY e.row
      """, [.integer(store), .integer(product)] + (variant.map { [.integer($0)] } ?? [])
    ) {
      Piece(
        row: $0.integer(0), channel: $0.text(1), type: ChangeType(code: $0.integer(2)), base: $0.optionalPrice(3),
        new: $0.optionalPrice(4), currency: $0.optionalText(5))
    }
  }

  private func remove(_ pieces: [Piece]) throws {
    for piece in pieces {
      if piece.type?.isStock == true {
        // If the channel never notified one, the stock before the event counts as notified.
        try transaction.execute(
          """
          INSERT OR IGNORE INTO channel_stock SELECT store, product, variant, ?2, type <> 3, NULL FROM events
          WHERE row = ?1 AND variant IS NOT NULL
          """, [.integer(piece.row), .text(piece.channel)])
      }
      try transaction.execute(
        "DELETE FROM outbox WHERE channel = ?1 AND event = ?2 AND claim IS NULL",
        [.text(piece.channel), .integer(piece.row)])
    }
  }
}

extension ChangeEventDTO {
  /// Returns the price change as one since an older price; `nil` if the price is that one again.
  func since(_ base: Price) -> ChangeEventDTO? {
    guard let newPrice, let new = Price("\(newPrice)") else { return self }
    guard new != base else { return nil }
    var event = self
    event.changeType = new < base ? .priceDropped : .priceIncreased
    event.magnitude = ChangeMagnitude(from: base, to: new)
    event.tell(base, new, nil, newValue)
    return event
  }
}
