import CofferCSQLite
import CofferCore
import CofferFileSystem
import Foundation

/// The rows of a table in a database of another program, read in one transaction.
///
/// Sendable: SQLite serializes calls on a connection that was opened with `FULLMUTEX`, the pointer never changes, the
/// variables change only while it is created, and each method uses a statement of its own.
final class TableOrigin: ImportOrigin, @unchecked Sendable {
  private(set) var names: [String] = []
  private(set) var ignored: [Import.Report.Entry] = []
  private let database: OpaquePointer
  private let path: String
  private let query: String

  init(_ path: String, table: String, key: String, value: String) throws {
    let (table, key, value) = (try Self.quoted(table), try Self.quoted(key), try Self.quoted(value))
    self.path = path
    query = "SELECT \(value) FROM main.\(table) WHERE \(key) = ?1 LIMIT 2"
    // SQLite would wait at a pipe for its writer.
    let parts = PathParts(path)
    guard let file = parts.names.last, try Directory(parts.parent, location: path).stamp(file) != nil else {
      throw StorageError(
        .notFound, "There is no database at this path.", advice: "Check the path. Nothing was changed.", location: path)
    }
    var connection: OpaquePointer?
    let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_NOFOLLOW
    // SQLite would refuse a link anywhere in the path; only the last name must be none.
    let directory = realpath(parts.parent, nil)
    defer { free(directory) }
    let resolved = directory.map { String(cString: $0) + "/" + file } ?? path
    let code = sqlite3_open_v2(resolved, &connection, flags, nil)
    guard code == SQLITE_OK, let connection else {
      sqlite3_close_v2(connection)
      throw Self.failure(code, path)
    }
    database = connection
    sqlite3_busy_timeout(connection, 5_000)
    try rows("BEGIN") { _ in }
    // A quoted name that is no column would be a string.
    try rows("SELECT main.\(table).\(key), main.\(table).\(value) FROM main.\(table) LIMIT 0") { _ in }
    var others = 0
    try rows("SELECT \(key) FROM main.\(table) ORDER BY \(key)") { row in
      let isText = sqlite3_column_type(row, 0) == SQLITE_TEXT
      if isText, let name = String(validating: Self.bytes(row), as: UTF8.self) {
        // A name that occurs twice is found unreadable once.
        if names.last.map({ !$0.utf8.elementsEqual(name.utf8) }) ?? true { names.append(name) }
      } else {
        others += 1
      }
    }
    ignored = (0..<others).map { _ in .init(name: "?", outcome: .skipped(reason: "its name is not text in UTF-8")) }
  }

  deinit { sqlite3_close_v2(database) }

  func read(_ name: String) throws -> ImportedOriginal? {
    var found: [Data?] = []
    try rows(query, name) { row in
      switch sqlite3_column_type(row, 0) {
      case SQLITE_NULL: found.append(nil)
      default: found.append(Self.bytes(row))
      }
    }
    guard found.count < 2 else { throw ImportFailure(reason: "several rows have its name") }
    // The rows are those of one transaction, so it cannot be gone.
    guard let value = found.first else { throw ImportFailure(reason: "no row is found by its name") }
    guard let value else { throw ImportFailure(reason: "it is NULL") }
    return ImportedOriginal(name: name, data: value)
  }

  /// Runs a statement, and calls `body` with each row.
  private func rows(_ sql: String, _ name: String? = nil, _ body: (OpaquePointer) -> Void) throws {
    var statement: OpaquePointer?
    var code = sqlite3_prepare_v2(database, sql, -1, &statement, nil)
    defer { sqlite3_finalize(statement) }
    guard code == SQLITE_OK, let statement else { throw Self.failure(code, path) }
    if let name {
      let copied = unsafeBitCast(-1 as Int, to: sqlite3_destructor_type.self)
      code = sqlite3_bind_text(statement, 1, name, Int32(name.utf8.count), copied)
      guard code == SQLITE_OK else { throw Self.failure(code, path) }
    }
    while true {
      code = sqlite3_step(statement)
      guard code == SQLITE_ROW else { break }
      body(statement)
    }
    guard code == SQLITE_DONE else { throw Self.failure(code, path) }
  }

  private static func bytes(_ row: OpaquePointer) -> Data {
    switch sqlite3_column_type(row, 0) {
    case SQLITE_FLOAT:
      // SQLite's own text has 15 digits, and so another value.
      return Data("\(sqlite3_column_double(row, 0))".utf8)
    case SQLITE_BLOB:
      guard let start = sqlite3_column_blob(row, 0) else { return Data() }
      return Data(bytes: start, count: Int(sqlite3_column_bytes(row, 0)))
    default:
      // As UTF-8, also in a database in UTF-16.
      guard let start = sqlite3_column_text(row, 0) else { return Data() }
      return Data(bytes: start, count: Int(sqlite3_column_bytes(row, 0)))
    }
  }

  /// Returns an SQL identifier. With the name of its table before it, SQLite never takes it for a string.
  private static func quoted(_ name: String) throws -> String {
    guard !name.isEmpty, !name.utf8.contains(0) else {
      throw StorageError(
        .invalidKey, "The name of a table or column is empty or has a NUL byte.", advice: "Nothing was changed.")
    }
    return "\"" + name.replacing("\"", with: "\"\"") + "\""
  }

  private static func failure(_ code: Int32, _ path: String) -> StorageError {
    let (kind, message, advice): (StorageError.Code, String, String) =
      switch code & 0xFF {
      case SQLITE_NOTADB, SQLITE_CORRUPT: (.damaged, "The database is damaged, encrypted or none.", "Restore a copy.")
      case SQLITE_ERROR: (.notFound, "The database has no such table or column.", "Check the names.")
      default: (.inputOutput, "The database cannot be read.", "Try it again.")
      }
    return StorageError(
      kind, message, advice: "\(advice) Nothing was changed.", location: path,
      underlying: .init(domain: "SQLite", code: Int(code), text: String(cString: sqlite3_errstr(code))))
  }
}
