import CofferCSQLite
import CofferSQLite
import Foundation
import Testing

/// Runs SQL on the database of a store without the engine.
func sql(_ statement: String, on path: String) throws {
  var handle: OpaquePointer?
  try #require(
    sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, PageVFS.registeredName) == SQLITE_OK)
  defer { sqlite3_close(handle) }
  try #require(sqlite3_exec(handle, statement, nil, nil, nil) == SQLITE_OK)
}

/// Changes a stored value so that its checksum is wrong.
func damage(_ key: String, in sandbox: Sandbox) throws {
  let name = key.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
  try sql("UPDATE coffer_values SET value = x'00ff' WHERE key = x'\(name)'", on: sandbox.storePath)
}

/// Returns the number that a query yields.
func number(_ query: String, on path: String) throws -> Int64 {
  var handle: OpaquePointer?
  try #require(
    sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, PageVFS.registeredName) == SQLITE_OK)
  defer { sqlite3_close(handle) }
  var statement: OpaquePointer?
  try #require(sqlite3_prepare_v2(handle, query, -1, &statement, nil) == SQLITE_OK)
  defer { sqlite3_finalize(statement) }
  try #require(sqlite3_step(statement) == SQLITE_ROW)
  return sqlite3_column_int64(statement, 0)
}
