import CofferSQLite
import Foundation

/// A transaction that can run queries: a read or a write transaction.
protocol Querying {
  func query<R>(_ sql: String, _ arguments: [SQLiteValue], _ row: (SQLiteRow) throws -> R) throws -> [R]
}

extension SQLiteDatabase.ReadTransaction: Querying {}
extension SQLiteDatabase.Transaction: Querying {}

extension SQLiteRow {
  func optionalText(_ column: Int) -> String? { isNull(column) ? nil : text(column) }
  func optionalInteger(_ column: Int) -> Int64? { isNull(column) ? nil : integer(column) }
  func date(_ column: Int) -> Date { Date(milliseconds: integer(column)) }
  func optionalDate(_ column: Int) -> Date? { isNull(column) ? nil : date(column) }
  func price(_ column: Int) -> Price { Price(tenThousandths: integer(column)) }
  func optionalPrice(_ column: Int) -> Price? { isNull(column) ? nil : price(column) }
  func flag(_ column: Int) -> Bool { integer(column) != 0 }
  func rate(_ column: Int) -> Double { Double(integer(column)) / 1_000_000_000 }
}

extension SQLiteValue {
  static func optional(_ text: String?) -> SQLiteValue { text.map { .text($0) } ?? .null }
  static func optional(_ number: Int64?) -> SQLiteValue { number.map { .integer($0) } ?? .null }
  static func optional(_ price: Price?) -> SQLiteValue { price.map { .integer($0.tenThousandths) } ?? .null }
  static func price(_ price: Price) -> SQLiteValue { .integer(price.tenThousandths) }
  /// An exchange rate, in billionths.
  static func rate(_ rate: Double) -> SQLiteValue { .integer(Int64((rate * 1_000_000_000).rounded())) }
  static func flag(_ flag: Bool) -> SQLiteValue { .integer(flag ? 1 : 0) }
  static func date(_ date: Date) -> SQLiteValue { .integer(date.milliseconds) }
}

extension Date {
  init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1_000) }

  /// The time since 1970 in milliseconds, clamped to the range of `Int64`.
  var milliseconds: Int64 {
    Int64(exactly: (timeIntervalSince1970 * 1_000).rounded(.down)) ?? (timeIntervalSince1970 < 0 ? .min : .max)
  }
}

extension String {
  /// The text for ordering names: without case and accents, with each number after all that have fewer digits.
  var sortKey: String {
    var key = String.UnicodeScalarView()
    var digits: [Unicode.Scalar] = []
    for scalar in foldedForSearch.unicodeScalars {
      if ("0"..."9").contains(scalar) {
        if digits != ["0"] { digits.append(scalar) } else { digits = [scalar] }
        continue
      }
      key += Self.sortKey(digits)
      digits = []
      key.append(scalar)
    }
    return String(key + Self.sortKey(digits))
  }

  /// Returns the digits of a number after their count, as a character before all letters.
  private static func sortKey(_ digits: [Unicode.Scalar]) -> String.UnicodeScalarView {
    guard !digits.isEmpty else { return String.UnicodeScalarView() }
    return String.UnicodeScalarView([Unicode.Scalar(UInt8(0x30 + Swift.min(digits.count, 40)))] + digits)
  }

  /// The text for searching titles: without differences of case, accents and width.
  package var foldedForSearch: String {
    folding(options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
  }
}
