import CofferCore
import Foundation

/// A cache of the statements that an application runs, compiled once per connection. Not thread-safe, like its
/// connection.
package final class StatementCache {
  /// A compiled statement.
  private final class Entry {
    let statement: Statement
    /// Whether it is being run. A closure that runs the same SQL for a row receives another statement.
    var isInUse = true

    init(_ statement: Statement) { self.statement = statement }
  }

  private static let limit = 128

  private let connection: Connection
  /// By the bytes of the SQL. Hashing an array of them, byte by byte, took a tenth of the time of a large transaction.
  private var entries: [Data: Entry] = [:]

  init(_ connection: Connection) { self.connection = connection }

  private func entry(_ sql: String, _ arguments: [SQLiteValue]) throws -> Entry {
    let entry = try idle(sql)
    let statement = entry.statement
    guard arguments.count == statement.parameterCount else {
      entry.isInUse = false
      throw StorageError(
        .statementFailed,
        "The number of parameters is \(statement.parameterCount), and that of the values \(arguments.count).",
        advice: "Give one value for each parameter. Nothing was run.", location: connection.file.description)
    }
    for (index, argument) in arguments.enumerated() { statement.bind(Int32(index + 1), argument) }
    return entry
  }

  /// Returns a statement that is not being run, and marks it as in use.
  private func idle(_ sql: String) throws -> Entry {
    let key = Data(sql.utf8)
    let known = entries[key]
    if let known, !known.isInUse {
      known.isInUse = true
      return known
    }
    let entry = Entry(try connection.prepare(sql))
    if known == nil {
      if entries.count >= Self.limit { entries.removeAll() }
      entries[key] = entry
    }
    return entry
  }

  private func giveBack(_ entry: Entry) {
    entry.statement.resetAndClearBindings()
    entry.isInUse = false
  }

  /// Runs one statement, or several statements separated by `;` if there are no arguments.
  package func execute(_ sql: String, _ arguments: [SQLiteValue]) throws {
    if arguments.isEmpty { return try connection.execute(sql) }
    let entry = try entry(sql, arguments)
    defer { giveBack(entry) }
    while try entry.statement.step() {}
  }

  package func query<R>(_ sql: String, _ arguments: [SQLiteValue], _ row: (SQLiteRow) throws -> R) throws -> [R] {
    let entry = try entry(sql, arguments)
    defer { giveBack(entry) }
    let statement = entry.statement
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
