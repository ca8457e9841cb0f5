import CofferSQLite
import Foundation

/// Judges claimed events: what is no longer true when it is about to be delivered is not news.
///
/// All undelivered events of a channel stay in its outbox until then. The oldest about a subject tells what the readers
/// know, the newest what is true.
struct NewsJudge {
  private let channel: String
  private let preferences: NotificationPreferences
  private let rules: DetectionRules
  private let transaction: SQLiteDatabase.Transaction

  init(
    _ channel: String, _ preferences: NotificationPreferences, _ rules: DetectionRules,
    in transaction: SQLiteDatabase.Transaction
  ) {
    (self.channel, self.preferences, self.rules, self.transaction) = (channel, preferences, rules, transaction)
  }

  /// A claimed event.
  struct Claimed {
    var row: Int64
    var type: ChangeType?
    var store: Int64
    var product: Int64?
    var variant: Int64?
    var subject: NewsSubject?
    var old: Price?
    var currency: String?
    /// Whether an earlier delivery may have arrived.
    var isUncertain: Bool
  }

  /// An event to deliver.
  private struct Piece {
    var row: Int64
    /// The price that the readers know; `nil` for that of the event.
    var base: Price?
    var subject: NewsSubject?
    /// The claimed rows that it covers.
    var covered: [Int64]
  }

  /// Returns the events to deliver, oldest first, and all rows that they cover.
  func news(of claim: String, at now: Date) throws -> (events: [ChangeEventDTO], rows: [Int64]) {
    var singles: [Claimed] = []
    var groups: [NewsSubject: [Claimed]] = [:]
    for claimed in try Self.claimed(claim, by: channel, in: transaction) {
      if let subject = claimed.subject { groups[subject, default: []].append(claimed) } else { singles.append(claimed) }
    }
    var pieces = try singles.filter { try !isRemoved($0) }.map { Piece(row: $0.row, covered: [$0.row]) }
    for (subject, group) in groups {
      guard let (row, base) = try newest(subject, group) else { continue }
      pieces.append(Piece(row: row, base: base, subject: subject, covered: group.map(\.row)))
    }
    pieces.sort { $0.row < $1.row }
    let list = String(decoding: try JSONEncoder().encode(pieces.map(\.row)), as: UTF8.self)
    let events = try EventRows.read(
      "SELECT value AS row FROM json_each(?1) ORDER BY value", [.text(list)], transaction)
    var result: (events: [ChangeEventDTO], rows: [Int64]) = ([], [])
    for (piece, event) in zip(pieces, events) {
      let event = piece.base.flatMap { event.since($0) } ?? event
      guard preferences.wants(event) else { continue }
      if let subject = piece.subject, subject.kind == .stock {
        try ToldStock.begin(subject, channel, at: now, in: transaction)
      }
      result.events.append(event)
      result.rows += piece.covered
    }
    return result
  }

  /// Returns the events of a claim, oldest first.
  static func claimed(_ claim: String, by channel: String, in transaction: some Querying) throws -> [Claimed] {
    try transaction.query(
      """
      SELECT e.row, e.type, e.store, e.product, e.variant, e.wish, e.old_price, e.currency, o.begun > 1
      FROM outbox AS o CROSS JOIN events AS e ON e.row = o.event CROSS JOIN stores AS s ON s.no = e.store
      WHERE o.channel = ?1 AND o.claim = ?2 ORDER BY e.row
      """, [.text(channel), .text(claim)]
    ) { row in
      let (type, store) = (ChangeType(code: row.integer(1)), row.integer(2))
      let (product, variant) = (row.optionalInteger(3), row.optionalInteger(4))
      return Claimed(
        row: row.integer(0), type: type, store: store, product: product, variant: variant,
        subject: NewsSubject(type, store: store, product: product, variant: variant, wish: row.optionalText(5)),
        old: row.optionalPrice(6), currency: row.optionalText(7), isUncertain: row.flag(8))
    }
  }

  // MARK: One subject

  /// Returns the newest event about a subject, with the price that the readers know; `nil` if there is no news.
  private func newest(_ subject: NewsSubject, _ claimed: [Claimed]) throws -> (row: Int64, base: Price?)? {
    let last = try transaction.query(
      """
      SELECT e.row, e.type, e.new_price, e.currency FROM events AS e WHERE \(subject.condition)
      ORDER BY e.row DESC LIMIT 1
      """, subject.values
    ) {
      (
        row: $0.integer(0), type: ChangeType(code: $0.integer(1)), price: $0.optionalPrice(2),
        currency: $0.optionalText(3)
      )
    }
    .first
    guard let last else { return nil }
    // After a delivery without an answer the readers know one or the other.
    let isUncertain = claimed.contains(where: \.isUncertain)
    switch subject.kind {
    case .listing: return (last.row, nil)
    case .wish: return try isFulfilled(subject) ? (last.row, nil) : nil
    case .stock:
      guard try !isGone(subject, sparing: last.type == .outOfStock) else { return nil }
      return known(claimed) != last.type || isUncertain ? (last.row, nil) : nil
    case .price:
      guard try !isGone(subject, sparing: false) else { return nil }
      // Amounts of another currency cannot be compared.
      guard let base = claimed.first(where: { $0.currency == last.currency })?.old else { return (last.row, nil) }
      guard base == last.price else { return (last.row, base) }
      return isUncertain ? (last.row, nil) : nil
    }
  }

  /// Returns the stock that the readers take for the current one: that before the first event, or after the last of a
  /// kind of which they are not notified.
  private func known(_ claimed: [Claimed]) -> ChangeType {
    let silent = claimed.last { claimed in claimed.type.map { !preferences.types.contains($0) } ?? false }
    if let silent = silent?.type { return silent }
    return claimed.first?.type == .backInStock ? .outOfStock : .backInStock
  }

  /// Returns whether a product is no longer listed, which is news of its own.
  private func isRemoved(_ claimed: Claimed) throws -> Bool {
    guard let product = claimed.product else { return false }
    return try transaction.query(
      "SELECT is_removed FROM products WHERE store = ?1 AND id = ?2", [.integer(claimed.store), .integer(product)]
    ) { $0.flag(0) }.first ?? false
  }

  /// Returns whether a variant is no longer listed.
  /// - Parameter isSoldOut: whether the news is that it is sold out, which remains true without the variant.
  private func isGone(_ subject: NewsSubject, sparing isSoldOut: Bool) throws -> Bool {
    let state = try transaction.query(
      """
      SELECT p.is_removed, v.missing_reads FROM products AS p LEFT JOIN variants AS v ON v.product = p.row AND v.id = ?3
      WHERE p.store = ?1 AND p.id = ?2
      """, Array(subject.values.prefix(3))
    ) { (isRemoved: $0.flag(0), missing: $0.optionalInteger(1) ?? 0) }.first
    guard let state else { return false }
    return state.isRemoved || !isSoldOut && state.missing >= rules.readsUntilRemoved
  }

  /// Returns whether a wish still exists and is fulfilled. A new product is news once, and need not be recorded.
  private func isFulfilled(_ subject: NewsSubject) throws -> Bool {
    try transaction.query(
      """
      SELECT EXISTS (SELECT 1 FROM wishes AS w WHERE w.id = ?4 AND (w.condition = 4 OR EXISTS (
        SELECT 1 FROM products AS p CROSS JOIN wish_matches AS m ON m.product = p.row AND m.store = p.store
        WHERE p.store = ?1 AND p.id = ?2 AND m.wish = w.no AND ?3 IS NULL)))
      """, subject.values
    ) { $0.flag(0) }[0]
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
