import CofferDatabase
import Foundation

/// A variant's stock as last notified by each channel, or its current stock if its changes are not notified.
///
/// A channel notifies stock changes of a variant at most once in some hours. An undelivered change is replaced by the
/// next one, or dropped if that restores the notified stock. Only a delivery makes a change a notified one: a channel
/// that fails, or one that was added later, has notified nothing. Each record names the event that it follows, so that
/// the end of a slow delivery does not replace what was decided meanwhile.
struct ToldStock {
  /// What a channel has notified of a variant.
  enum State: Int64 {
    case soldOut = 0
    case available = 1
    /// A delivery whose outcome is unknown: whatever comes next is notified.
    case uncertain = 2

    init(_ isAvailable: Bool) { self = isAvailable ? .available : .soldOut }
  }

  private let row: Int64
  private let state: State
  private let variant: VariantRow

  /// Creates the state for an event; `nil` if the event is not about stock.
  init?(of event: ChangeEventDTO, row: Int64, store: Int64) {
    guard event.changeType.isStock, let product = event.productShopifyId, let variant = event.variantShopifyId else {
      return nil
    }
    self.row = row
    state = State(event.changeType == .backInStock)
    self.variant = VariantRow(store: store, product: product, variant: variant)
  }

  /// Deletes what other channels than the given ones have notified: they are not selected, and would compare with an
  /// old stock later.
  /// - Parameter channels: the names as a JSON array.
  func forget(except channels: String, in transaction: SQLiteTransaction) throws {
    try transaction.execute(
      """
      DELETE FROM channel_stock WHERE store = ?1 AND product = ?2 AND variant = ?3
        AND channel NOT IN (SELECT value FROM json_each(?4))
      """, variant.values + [.text(channels)])
  }

  /// Records the current stock as known to a channel's readers, without a notification.
  func settle(_ channel: String, in transaction: SQLiteTransaction) throws {
    try Self.record(state, of: variant, channel, row: row, in: transaction)
  }

  /// Returns the date from which a channel may notify the current stock; `nil` if it equals the notified stock. An
  /// event whose delivery is in progress counts as notified: it is not withdrawn.
  func turn(
    _ channel: String, _ preferences: NotificationPreferences, _ now: Date, _ transaction: SQLiteTransaction
  ) throws -> Date? {
    typealias Told = (state: State?, at: Date?, row: Int64)
    var told = try transaction.query(
      """
      SELECT state, told_at, row FROM channel_stock WHERE store = ?1 AND product = ?2 AND variant = ?3 AND channel = ?4
      """, variant.values + [.text(channel)]
    ) { row -> Told in (State(rawValue: row.integer(0)), row.optionalDate(1), row.integer(2)) }.first
    let begun = try transaction.query(
      """
      SELECT e.type, o.claimed_at, e.row FROM events AS e CROSS JOIN outbox AS o ON o.event = e.row
      WHERE e.store = ?1 AND e.product = ?2 AND e.variant = ?3 AND e.type IN (3, 4) AND o.channel = ?4
        AND NOT \(OutboxRows.isFree(at: now))
      ORDER BY e.row DESC LIMIT 1
      """, variant.values + [.text(channel)]
    ) { row -> Told in (State(row.integer(0) == 3), row.optionalDate(1), row.integer(2)) }.first
    if let begun, begun.row > told?.row ?? -1 { told = begun }
    guard let told else { return .distantPast }
    guard told.state != state else { return nil }
    // A date in the future means that the clock was set back.
    guard let at = told.at, at <= now else { return .distantPast }
    return at.addingTimeInterval(3_600 * Double(min(24, max(0, preferences.stockQuietHours))))
  }

  // MARK: Records

  /// Records the stock before the first undelivered event of a variant, unless anything is recorded.
  static func begin(
    from state: State, of variant: VariantRow, _ channel: String, in transaction: SQLiteTransaction
  ) throws {
    try transaction.execute(
      "INSERT OR IGNORE INTO channel_stock VALUES (?1, ?2, ?3, ?4, ?5, NULL, 0)",
      variant.values + [.text(channel), .integer(state.rawValue)])
  }

  /// Records a state, unless that of a later event is recorded.
  /// - Parameters:
  ///   - state: what was notified.
  ///   - variant: the variant.
  ///   - channel: the channel.
  ///   - row: the row of the event; 0 for a state before all events.
  ///   - date: the date of the notification; `nil` if there was none.
  ///   - transaction: the transaction.
  static func record(
    _ state: State, of variant: VariantRow, _ channel: String, row: Int64, at date: Date? = nil,
    in transaction: SQLiteTransaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO channel_stock (store, product, variant, channel, state, told_at, row)
      VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) \(replacement)
      """,
      variant.values + [.text(channel), .integer(state.rawValue), date.map { .date($0) } ?? .null, .integer(row)])
  }

  /// Records the stock events of rows of the outbox as notified by their channels.
  /// - Parameters:
  ///   - condition: selects rows `o` of the outbox.
  ///   - values: the values of the condition.
  ///   - isUncertain: whether the outcome of the deliveries is unknown.
  ///   - date: the date of the deliveries; `nil` if nothing was shown.
  ///   - transaction: the transaction.
  static func settle(
    _ condition: String, _ values: [SQLiteValue], isUncertain: Bool, at date: Date?, in transaction: SQLiteTransaction
  ) throws {
    try transaction.execute(
      """
      INSERT INTO channel_stock (store, product, variant, channel, state, told_at, row)
      SELECT e.store, e.product, e.variant, o.channel, \(isUncertain ? "2" : "e.type = 3"), ?\(values.count + 1), e.row
      FROM outbox AS o CROSS JOIN events AS e ON e.row = o.event
      WHERE \(condition) AND e.type IN (3, 4) AND e.product IS NOT NULL AND e.variant IS NOT NULL
      ORDER BY e.row \(replacement)
      """, values + [date.map { .date($0) } ?? .null])
  }

  private static let replacement = """
    ON CONFLICT DO UPDATE SET state = excluded.state, told_at = coalesce(excluded.told_at, told_at), row = excluded.row
    WHERE excluded.row >= channel_stock.row
    """
}

/// A variant of a product in the database.
struct VariantRow: Hashable {
  var store: Int64
  var product: Int64
  var variant: Int64

  /// The values of the parameters ?1 to ?3.
  var values: [SQLiteValue] { [.integer(store), .integer(product), .integer(variant)] }
}
