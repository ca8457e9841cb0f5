public import Foundation

/// A value of a column or of a statement's parameter. It can be written as a Swift literal: `["tea", 250, nil]`.
public enum SQLiteValue: Hashable, Sendable {
  /// The SQL value `NULL`.
  case null
  /// A signed 64-bit integer.
  case integer(Int64)
  /// A floating-point number; SQLite stores NaN as `NULL`.
  case real(Double)
  /// A text, stored as UTF-8.
  case text(String)
  /// A sequence of bytes.
  case blob(Data)
}

extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByNilLiteral
{
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
  public init(stringLiteral value: String) { self = .text(value) }
  public init(nilLiteral: ()) { self = .null }
}

/// The current row of a query. Use it only inside the closure that receives it.
///
/// Columns are numbered from 0. A column of another type is converted by SQLite's rules: `NULL` reads as 0, `""` or
/// empty data.
public struct SQLiteRow {
  private let statement: Statement

  init(_ statement: Statement) { self.statement = statement }

  /// Returns whether a column is `NULL`.
  public func isNull(_ column: Int) -> Bool { statement.isNull(Int32(column)) }
  /// Returns the value of a column as an integer.
  public func integer(_ column: Int) -> Int64 { statement.integer(Int32(column)) }
  /// Returns the value of a column as a floating-point number.
  public func real(_ column: Int) -> Double { statement.double(Int32(column)) }
  /// Returns the value of a column as text, with replacement characters for invalid UTF-8.
  public func text(_ column: Int) -> String { statement.text(Int32(column)) }
  /// Returns the value of a column as bytes.
  public func blob(_ column: Int) -> Data { statement.data(Int32(column)) }

  /// The value row of a query that selects ``ValueRow/columns``.
  var value: ValueRow { ValueRow(statement, 0) }
}
