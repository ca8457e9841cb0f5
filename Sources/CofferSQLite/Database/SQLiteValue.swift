public import Foundation

/// A value in a column or a parameter of a statement. Literals of Swift can stand for it: `["tea", 250, nil]`.
public enum SQLiteValue: Hashable, Sendable {
  /// No value.
  case null
  /// A whole number.
  case integer(Int64)
  /// A floating-point number; SQLite stores one that is no number as `NULL`.
  case real(Double)
  /// Text.
  case text(String)
  /// Bytes.
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

/// The present row of a query. Use it only inside the closure that was given it.
///
/// Columns are numbered from 0. A column of another type is converted as SQLite does it: `NULL` reads as 0, `""` and no
/// bytes.
public struct SQLiteRow {
  private let statement: Statement

  init(_ statement: Statement) { self.statement = statement }

  /// Whether a column is `NULL`.
  public func isNull(_ column: Int) -> Bool { statement.isNull(Int32(column)) }
  /// A column as a whole number.
  public func integer(_ column: Int) -> Int64 { statement.integer(Int32(column)) }
  /// A column as a floating-point number.
  public func real(_ column: Int) -> Double { statement.double(Int32(column)) }
  /// A column as text; bytes that are no UTF-8 are replaced.
  public func text(_ column: Int) -> String { statement.text(Int32(column)) }
  /// A column as bytes.
  public func blob(_ column: Int) -> Data { statement.data(Int32(column)) }

  /// The row of a query for ``ValueRow/columns``.
  var value: ValueRow { ValueRow(statement, 0) }
}
