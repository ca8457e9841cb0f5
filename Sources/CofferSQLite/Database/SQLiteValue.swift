package import Foundation

/// A value in a column or a parameter of a statement.
package enum SQLiteValue: Hashable, Sendable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob(Data)
}

extension SQLiteValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByNilLiteral
{
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(floatLiteral value: Double) { self = .real(value) }
  package init(stringLiteral value: String) { self = .text(value) }
  package init(nilLiteral: ()) { self = .null }
}

/// The present row of a query; use it only inside the closure that was given it.
package struct SQLiteRow {
  private let statement: Statement

  init(_ statement: Statement) { self.statement = statement }

  package func isNull(_ column: Int) -> Bool { statement.isNull(Int32(column)) }
  package func integer(_ column: Int) -> Int64 { statement.integer(Int32(column)) }
  package func real(_ column: Int) -> Double { statement.double(Int32(column)) }
  package func text(_ column: Int) -> String { statement.text(Int32(column)) }
  package func blob(_ column: Int) -> Data { statement.data(Int32(column)) }

  /// The row of a query for ``ValueRow/columns``.
  var value: ValueRow { ValueRow(statement, 0) }
}
