import CofferCSQLite
import CofferCore
import CofferSQLite
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

/// Databases of other applications are recognized, refused and left as they are.
@Suite("Foreign databases", .blocking, .serialized)
struct ForeignDatabaseTests {
  private func refusal(_ path: String, _ access: StoreAccess = .readWrite) async throws -> StorageError {
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    var configuration = SQLiteEngine.Configuration()
    configuration.access = access
    do {
      try await SQLiteEngine.open(at: path, configuration: configuration).close()
    } catch let error as StorageError {
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
      return error
    }
    throw TestFailure("\(path) was opened")
  }

  // Requirement 1.67
  @Test(arguments: [
    ("CREATE TABLE grdb_migrations (identifier TEXT); CREATE TABLE player (id INTEGER)", "GRDB", 2),
    ("CREATE TABLE Z_METADATA (Z_VERSION INTEGER); CREATE TABLE ZSTOREDVALUE (ZKEY TEXT)", "Core Data", 2),
    ("CREATE TABLE ItemTable (key TEXT UNIQUE, value BLOB)", "a table of keys and values", 1),
    ("CREATE TABLE notes (text TEXT)", nil, 1),
  ])
  func writersAreNamed(_ schema: String, _ writer: String?, _ count: Int) async throws {
    let directory = try TemporaryDirectory()
    try sql(directory.path("app.db"), schema)
    for access in [StoreAccess.readWrite, .readOnly] {
      let error = try await refusal(directory.path("app.db"), access)
      #expect(error.code == .foreignFormat, "\(error)")
      #expect(error.foreignData?.container == .database)
      #expect(error.foreignData?.writer == writer)
      #expect(error.foreignData?.count == count)
      #expect(error.message.contains("another application" + (writer.map { " (\($0))" } ?? "")), "\(error)")
      #expect(error.advice.contains("import(from:)"))
    }
  }

  @Test(arguments: [
    "ALTER TABLE coffer_meta RENAME TO coffer_mate",
    "ALTER TABLE coffer_meta RENAME TO coffer_mate; PRAGMA application_id = 1",
  ])
  func aStoreWithoutItsMarkIsDamagedAndNotForeign(_ damage: String) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("app.db")
    let engine = try await SQLiteEngine.open(at: path)
    try await engine.commit(WriteBatch([.put("a", Data("1".utf8))]), from: StoreOrigin())
    try await engine.close()
    try sql(path, damage)
    #expect(try await refusal(path).code == .damaged)
  }
}
