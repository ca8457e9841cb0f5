import CofferSQLite
import Foundation

/// A product as wishes judge it. Its variants and their histories are loaded on demand, once.
final class ProductFacts {
  struct Variant {
    var id: Int64
    var title: String
    var price: Price
    var isAvailable: Bool
    /// The number of consecutive reads that did not list it.
    var missingReads: Int

    var isListed: Bool { missingReads == 0 }
    /// The title; `nil` for a product's only variant.
    var shownTitle: String? { title == ShopifyVariant.onlyTitle ? nil : title }
  }

  private struct Point {
    var variant: Int64
    var at: Date
    var price: Price
    var compareAt: Price?
    var currency: String?
  }

  let row: Int64
  let id: Int64
  let title: String
  let handle: String
  let foldedTitle: [UInt8]
  let isRemoved: Bool
  /// Whether the last read did not list the product, though it does not count as removed: its state is unknown.
  let isMissing: Bool
  /// The currency of its prices.
  private let currency: String?
  private var loaded: [Variant]?
  private var history: [Point]?

  static let columns = "row, id, title, handle, folded_title, is_removed, missing_reads"

  init(_ row: SQLiteRow, _ currency: String?) {
    self.row = row.integer(0)
    id = row.integer(1)
    title = row.text(2)
    handle = row.text(3)
    foldedTitle = Array(row.text(4).utf8)
    isRemoved = row.flag(5)
    isMissing = !row.flag(5) && row.integer(6) > 0
    self.currency = currency
  }

  static func find(
    _ id: Int64, store: Int64, _ currency: String?, in transaction: some Querying
  ) throws -> ProductFacts? {
    try transaction.query(
      "SELECT \(columns) FROM products WHERE store = ?1 AND id = ?2", [.integer(store), .integer(id)]
    ) { ProductFacts($0, currency) }.first
  }

  static func find(row: Int64, _ currency: String?, in transaction: some Querying) throws -> ProductFacts? {
    try transaction.query("SELECT \(columns) FROM products WHERE row = ?1", [.integer(row)]) {
      ProductFacts($0, currency)
    }.first
  }

  func variants(in transaction: some Querying) throws -> [Variant] {
    if let loaded { return loaded }
    let variants = try transaction.query(
      """
      SELECT id, title, price, is_available, missing_reads FROM variants WHERE product = ?1
      ORDER BY missing_since IS NOT NULL, position, id
      """, [.integer(row)]
    ) {
      Variant(
        id: $0.integer(0), title: $0.text(1), price: $0.price(2), isAvailable: $0.flag(3),
        missingReads: Int($0.integer(4)))
    }
    loaded = variants
    return variants
  }

  /// Returns the price to which a percentage refers: the one when it was wished, or, for a variant that was first
  /// listed later, its first one or the crossed-out price then.
  func base(of variant: Variant, since date: Date, in transaction: some Querying) throws -> Price? {
    let own = try points(in: transaction).filter { $0.variant == variant.id }
    if let known = own.last(where: { $0.at <= date }) { return known.price }
    return own.first.map { max($0.price, $0.compareAt ?? .zero) }
  }

  func prices(of variant: Int64, in transaction: some Querying) throws -> PriceHistory {
    PriceHistory(
      points: try points(in: transaction).filter { $0.variant == variant }.map { .init(at: $0.at, price: $0.price) })
  }

  /// Returns the price points in the current currency.
  private func points(in transaction: some Querying) throws -> [Point] {
    if let history { return history }
    let points = try transaction.query(
      """
      SELECT variant, at, price, compare_at, currency FROM snapshots
      WHERE product = ?1 AND (currency IS NULL OR ?2 IS NULL OR currency = ?2) ORDER BY variant, at
      """, [.integer(row), .optional(currency)]
    ) {
      Point(
        variant: $0.integer(0), at: $0.date(1), price: $0.price(2), compareAt: $0.optionalPrice(3),
        currency: $0.optionalText(4))
    }
    history = points
    return points
  }
}

extension Price {
  /// Returns the largest price that is at least some percent below this one.
  func reduced(byPercent percent: Int) -> Price {
    let (high, low) = tenThousandths.magnitude.multipliedFullWidth(by: UInt64(max(0, min(100, 100 - percent))))
    return Price(tenThousandths: Int64(UInt64(100).dividingFullWidth((high, low)).quotient))
  }
}
