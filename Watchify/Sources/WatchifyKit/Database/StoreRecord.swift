import CofferSQLite
public import Foundation

/// A store as a database row.
struct StoreRecord: Sendable {
  var no: Int64
  var id: UUID
  var name: String
  var domain: String
  var lastAttemptAt: Date?
  var lastFetchedAt: Date?
  var isClosed: Bool
  var country: String?
  var currency: String?
  var baseCurrency: String?
  var headers: [StoreHeader]
  var generation: Int64
  /// The country that the last read requested.
  var readCountry: String?
  /// The date of the last request for the shop's base currency.
  var metaAskedAt: Date?
  /// The number of these requests.
  var metaAttempts: Int
  /// The number of listed entries without a readable id that are none of the known products.
  var nameless: Int

  /// The market of the stored values; `nil` before the first read.
  var market: Market? { lastFetchedAt.map { _ in Market(country: readCountry, currency: currency) } }

  static func find(_ id: UUID, in transaction: some Querying) throws -> StoreRecord? {
    try all("WHERE id = ?1", [.text(id.uuidString)], in: transaction).first
  }

  static func all(_ condition: String, _ arguments: [SQLiteValue], in transaction: some Querying) throws -> [Self] {
    try transaction.query(
      """
      SELECT no, id, name, domain, last_attempt_at, last_fetched_at, is_closed, country, currency, base_currency,
        headers, generation, read_country, meta_asked_at, meta_attempts, nameless
      FROM stores \(condition)
      """, arguments
    ) { row in
      StoreRecord(
        no: row.integer(0), id: UUID(uuidString: row.text(1)) ?? UUID(), name: row.text(2), domain: row.text(3),
        lastAttemptAt: row.optionalDate(4), lastFetchedAt: row.optionalDate(5), isClosed: row.flag(6),
        country: row.optionalText(7), currency: row.optionalText(8), baseCurrency: row.optionalText(9),
        headers: try JSONDecoder().decode([StoreHeader].self, from: Data(row.text(10).utf8)),
        generation: row.integer(11), readCountry: row.optionalText(12), metaAskedAt: row.optionalDate(13),
        metaAttempts: Int(row.integer(14)), nameless: Int(row.integer(15)))
    }
  }
}

/// An additional header for the requests to a store, such as a signature with which its owner grants access.
public struct StoreHeader: Codable, Hashable, Sendable {
  /// The name.
  public var name: String
  /// The value, which may be a secret.
  public var value: String
  /// The date after which the header is no longer sent; `nil` if it does not expire.
  public var expiresAt: Date?

  /// Creates a header.
  public init(name: String, value: String, expiresAt: Date? = nil) {
    self.name = name
    self.value = value
    self.expiresAt = expiresAt
  }
}

extension StoreHeader: CustomStringConvertible, CustomReflectable {
  /// The name without the value, which may be a secret.
  public var description: String { "\(name): (not shown)" }
  public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
