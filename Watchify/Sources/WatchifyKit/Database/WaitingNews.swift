import CofferDatabase
import Foundation

/// Withdraws undelivered events that are out of date, except for those whose delivery is in progress.
struct WaitingNews {
  private let store: Int64
  private let now: Date
  private let transaction: SQLiteTransaction
  /// Whether the store has no undelivered events, which is usual; further queries are skipped then.
  private let isEmpty: Bool

  init(of store: Int64, at now: Date, in transaction: SQLiteTransaction) throws {
    (self.store, self.now, self.transaction) = (store, now, transaction)
    isEmpty = try transaction.query(
      "SELECT EXISTS (SELECT 1 FROM outbox WHERE store = ?1)", [.integer(store)]
    ) { !$0.flag(0) }[0]
  }

  /// What a channel's readers know of a price whose changes were not all delivered.
  enum KnownPrice {
    /// The price that was notified last.
    case price(Price)
    /// A delivery whose outcome is unknown was withdrawn.
    case uncertain
    /// A delivery is in progress.
    case inDelivery

    /// The price, if it is known.
    var price: Price? { if case .price(let price) = self { price } else { nil } }
  }

  private struct Piece {
    var row: Int64
    var channel: String
    var type: ChangeType?
    var variant: VariantRow?
    /// The price before the event, as the readers know it.
    var base: Price?
    var currency: String?
    /// Whether a delivery began whose outcome is unknown, and when.
    var isUncertain: Bool
    var begunAt: Date?
    /// Whether no delivery is in progress.
    var isFree: Bool
  }

  // MARK: Withdrawal

  /// Deletes the undelivered events that a new event replaces.
  /// - Returns: By channel, what is known of the price, if the event is about a price whose changes were not all
  ///   delivered.
  func withdraw(replacedBy event: ChangeEventDTO) throws -> [String: KnownPrice] {
    guard !isEmpty, let product = event.productShopifyId else { return [:] }
    switch event.changeType {
    case .productRemoved: try remove(pieces(product))
    case .productReturned: try remove(pieces(product).filter { $0.type == .productRemoved })
    case .backInStock, .outOfStock:
      guard let variant = event.variantShopifyId else { break }
      try remove(pieces(product, variant).filter { $0.type?.isStock ?? false })
    case .priceDropped, .priceIncreased:
      guard let variant = event.variantShopifyId else { break }
      // Amounts of another currency cannot be compared.
      let prices = try pieces(product, variant).filter { $0.type?.isPrice ?? false && $0.currency == event.currency }
      try remove(prices)
      return Dictionary(grouping: prices, by: \.channel).mapValues(Self.known)
    default: break
    }
    return [:]
  }

  private static func known(_ prices: [Piece]) -> KnownPrice {
    if prices.contains(where: { !$0.isFree }) { return .inDelivery }
    // The oldest event starts from the notified price.
    guard let base = prices.first?.base, !prices.contains(where: \.isUncertain) else { return .uncertain }
    return .price(base)
  }

  /// Records that a variant is no longer listed: it counts as out of stock without a notification, so that its return
  /// is notified.
  func lose(_ variant: Int64, of product: Int64) throws {
    let lost = VariantRow(store: store, product: product, variant: variant)
    var channels = Set(
      try transaction.query(
        "SELECT channel FROM channel_stock WHERE store = ?1 AND product = ?2 AND variant = ?3", lost.values
      ) { $0.text(0) })
    if !isEmpty {
      let pieces = try pieces(product, variant).filter { $0.type != .outOfStock }
      try remove(pieces)
      channels.formUnion(pieces.filter { $0.type == .backInStock }.map(\.channel))
    }
    guard !channels.isEmpty else { return }
    // After all events so far, and not after the next one.
    let next = try transaction.query("SELECT coalesce(max(row), 0) + 1 FROM events", []) { $0.integer(0) }[0]
    for channel in channels { try ToldStock.record(.soldOut, of: lost, channel, row: next, in: transaction) }
  }

  // MARK: Rows

  /// Returns the undelivered events of a product, or of one of its variants, oldest first.
  private func pieces(_ product: Int64, _ variant: Int64? = nil) throws -> [Piece] {
    try transaction.query(
      """
      SELECT e.row, o.channel, e.type, e.variant, coalesce(o.base_price, e.old_price), e.currency, o.begun > 0,
        o.claimed_at, \(OutboxRows.isFree(at: now))
      FROM events AS e CROSS JOIN outbox AS o ON o.event = e.row
      WHERE e.store = ?1 AND e.product = ?2 \(variant == nil ? "" : "AND e.variant = ?3") ORDER BY e.row
      """, [.integer(store), .integer(product)] + (variant.map { [.integer($0)] } ?? [])
    ) { row in
      Piece(
        row: row.integer(0), channel: row.text(1), type: ChangeType(code: row.integer(2)),
        variant: row.optionalInteger(3).map { VariantRow(store: store, product: product, variant: $0) },
        base: row.optionalPrice(4), currency: row.optionalText(5), isUncertain: row.flag(6),
        begunAt: row.optionalDate(7), isFree: row.flag(8))
    }
  }

  private func remove(_ pieces: [Piece]) throws {
    for piece in pieces {
      if piece.type?.isStock ?? false, let variant = piece.variant {
        // If the channel never notified one, the stock before the event counts as notified.
        try ToldStock.begin(
          from: piece.type == .backInStock ? .soldOut : .available, of: variant, piece.channel, in: transaction)
        if piece.isFree, piece.isUncertain {
          try ToldStock.record(
            .uncertain, of: variant, piece.channel, row: piece.row, at: piece.begunAt, in: transaction)
        }
      }
      guard piece.isFree else { continue }
      try transaction.execute(
        "DELETE FROM outbox WHERE channel = ?1 AND event = ?2", [.text(piece.channel), .integer(piece.row)])
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
