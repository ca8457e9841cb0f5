import CofferCSQLite
import CofferCore
import Foundation

/// A database without the tables of a store.
struct ForeignDatabase {
  let connection: Connection
  /// The application id of a store's database, which a store keeps when its tables are damaged.
  let applicationID: Int

  private static let tableLimit = 1_000

  /// Returns the error for the database: `foreignFormat`, or `damaged` if it has other marks of a store.
  func error() throws -> StorageError {
    let location = connection.file.description
    guard try !hasMark() else {
      return StorageError(
        .damaged, "The database is a store whose table coffer_meta is missing.",
        advice: "Keep a copy of the file and its -wal file, then restore a backup. Nothing was changed.",
        location: location)
    }
    var names = try tables()
    let hasMore = names.count > Self.tableLimit
    if hasMore { names.removeLast() }
    return .foreign(
      ForeignData(.database, at: location, names: names, hasMore: hasMore, writer: writer(of: names)))
  }

  private func hasMark() throws -> Bool {
    if try connection.number("PRAGMA application_id") == Int64(applicationID) { return true }
    return try connection.number(
      "SELECT 1 FROM sqlite_schema WHERE name IN ('coffer_values', 'coffer_records', 'coffer_journal') LIMIT 1") != nil
  }

  private func tables() throws -> [String] {
    let statement = try connection.prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        + "LIMIT \(Self.tableLimit + 1)")
    defer { statement.reset() }
    var names: [String] = []
    while try statement.step() { names.append(statement.text(0)) }
    return names
  }

  /// Returns the library that creates tables of these names.
  private func writer(of names: [String]) -> String? {
    if names.contains("grdb_migrations") { return "GRDB" }
    if names.contains("Z_METADATA") { return "Core Data" }
    if names.contains("room_master_table") { return "Room" }
    if names.contains("__EFMigrationsHistory") { return "Entity Framework" }
    // A definition that SQLite cannot parse is no key-value table.
    let columns = try? connection.number(
      """
      SELECT count(*) FROM (SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' LIMIT 1) t,
        pragma_table_info(t.name) c WHERE lower(c.name) IN ('key', 'value')
      """)
    return names.count == 1 && columns == 2 ? "a table of keys and values" : nil
  }
}
