import CofferCore
import Foundation

/// A cache of the statements that an application runs, compiled once per connection. Not thread-safe, like its
/// connection.
package final class StatementCache {
  private static let limit = 128

  private let connection: Connection
  /// By the bytes of the SQL. Hashing an array of them, byte by byte, took a tenth of the time of a large transaction.
  private var statements: [Data: Statement] = [:]

  init(_ connection: Connection) { self.connection = connection }

  func statement(_ sql: String, _ arguments: [SQLiteValue]) throws -> Statement {
    // Removed while in use, so that a closure that runs the same SQL for a row receives another statement.
    let statement = try statements.removeValue(forKey: Data(sql.utf8)) ?? connection.prepare(sql)
    guard arguments.count == statement.parameterCount else {
      throw StorageError(
        .statementFailed,
        "The number of parameters is \(statement.parameterCount), and that of the values \(arguments.count).",
        advice: "Give one value for each parameter. Nothing was run.", location: connection.file.description)
    }
    for (index, argument) in arguments.enumerated() { statement.bind(Int32(index + 1), argument) }
    return statement
  }

  private func giveBack(_ statement: Statement, _ sql: String) {
    statement.resetAndClearBindings()
    if statements.count >= Self.limit { statements.removeAll() }
    statements[Data(sql.utf8)] = statement
  }

  /// Runs one statement, or several statements separated by `;` if there are no arguments.
  package func execute(_ sql: String, _ arguments: [SQLiteValue]) throws {
    if arguments.isEmpty { return try connection.execute(sql) }
    let statement = try statement(sql, arguments)
    defer { giveBack(statement, sql) }
    while try statement.step() {}
  }

  package func query<R>(_ sql: String, _ arguments: [SQLiteValue], _ row: (SQLiteRow) throws -> R) throws -> [R] {
    let statement = try statement(sql, arguments)
    defer { giveBack(statement, sql) }
    var rows: [R] = []
    while try statement.step() { rows.append(try row(SQLiteRow(statement))) }
    return rows
  }
}

extension Statement {
  fileprivate func bind(_ index: Int32, _ value: SQLiteValue) {
    switch value {
    case .null: bindNull(index)
    case .integer(let number): bind(index, number)
    case .real(let number): bind(index, number)
    case .text(let text): bind(index, text: text)
    case .blob(let data): data.withUnsafeBytes { bind(index, copying: $0) }
    }
  }
}
