import CofferCore
import CofferPostgreSQL
import CofferTestSupport
import Foundation
import Testing

/// What roles may do: each sees and writes only the stores that it was granted.
@Suite("PostgreSQL: roles", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct RoleTests {
  let server: PostgreSQLServer
  let database: String
  let suffix = UUID().uuidString.prefix(8).lowercased()

  init() async throws {
    server = try await SharedServer.running()
    for role in ["owner", "writer", "reader", "stranger"] {
      try await server.psql("CREATE ROLE \(role)_\(suffix) LOGIN")
    }
    database = try await server.newDatabase(owner: "owner_\(suffix)")
  }

  private func location(_ role: String, _ store: String) -> String {
    server.location(database, store: store, user: "\(role)_\(suffix)")
  }

  private func open(_ role: String, _ store: String) async throws -> PostgreSQLEngine {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = Instances().next()
    return try await PostgreSQLEngine.open(location(role, store), configuration: configuration)
  }

  /// Creates two stores with a value each, and grants the first to a writer and to a reader.
  private func prepare() async throws {
    for store in ["first", "second"] {
      let engine = try await open("owner", store)
      try await engine.commit(WriteBatch([.put("k", Data(store.utf8))]), from: StoreOrigin())
      try await engine.close()
    }
    let administration = try PostgreSQLAdministration(location("owner", "first"))
    try await administration.grant("writer_\(suffix)", mayWrite: true)
    try await administration.grant("reader_\(suffix)", mayWrite: false)
    // A role with a grant to another store, whose tables it may use therefore.
    let second = try PostgreSQLAdministration(location("owner", "second"))
    try await second.grant("stranger_\(suffix)", mayWrite: true)
  }

  @Test("Dead rows are told when they are many, not when most of a few rows are dead")
  func deadRows() async throws {
    try await prepare()
    let administration = try PostgreSQLAdministration(location("owner", "first"))
    try await server.psql("ALTER TABLE coffer.values SET (autovacuum_enabled = off)", database: database)
    for (count, all, share) in [(5, 5, 0), (12_000, 12_005, 99)] {
      let dying = """
        INSERT INTO coffer.values (store, record, key, revision, checksum, value)
          SELECT 999, false, int8send(i), 1, 0, '' FROM generate_series(1, \(count)) i;
        DELETE FROM coffer.values WHERE store = 999
        """
      try await server.psql(dying, database: database)
      let dead = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'values'"
      try await eventually("the statistics count \(all) dead rows") {
        try await server.psql(dead, database: database).trimmingCharacters(in: .whitespacesAndNewlines) == "\(all)"
      }
      #expect(try await administration.examine().deadRows == share)
    }
  }

  @Test("A writer writes its store, a reader reads it, and neither sees another")
  func grants() async throws {
    try await prepare()
    let writer = try await open("writer", "first")
    let commit = try await writer.commit(WriteBatch([.put("k", Data("new".utf8))]), from: StoreOrigin())
    let reader = try await open("reader", "first")
    #expect(reader.isReadOnly && !writer.isReadOnly)
    #expect(try await reader.entry("k")?.revision == commit.revision)
    #expect(try await reader.entry("k")?.value == Data("new".utf8))
    let refused = await #expect(throws: StorageError.self) {
      try await reader.commit(WriteBatch([.put("k", Data())]), from: StoreOrigin())
    }
    #expect(refused?.code == .readOnly)
    for role in ["writer", "reader"] {
      let hidden = await #expect(throws: StorageError.self) { try await open(role, "second") }
      #expect([.notFound, .permissionDenied].contains(hidden?.code), "\(String(describing: hidden))")
    }
    try await writer.close()
    try await reader.close()
  }

  @Test("A role is listed by its name, whatever that contains")
  func listedRoles() async throws {
    try await prepare()
    let administration = try PostgreSQLAdministration(location("owner", "second"))
    let name = "a\" \\'b:false\nfoo_\(suffix):true"
    try await server.psql("CREATE ROLE \"\(name.replacing("\"", with: "\"\""))\"")
    try await administration.grant(name, mayWrite: false)
    let second = try #require(try await administration.stores().first { $0.name == "second" })
    #expect(second.members.map(\.role) == [name, "stranger_\(suffix)"])
    #expect(second.members.map(\.mayWrite) == [false, true])
  }

  @Test("A role whose transactions only read by default reads a store that it was granted, and writes nothing")
  func readOnlyByDefault() async throws {
    try await prepare()
    try await server.psql("ALTER ROLE writer_\(suffix) SET default_transaction_read_only = on")
    let engine = try await open("writer", "first")
    #expect(engine.isReadOnly)
    #expect(try await engine.entry("k")?.value == Data("first".utf8))
    let changes = engine.changes(since: nil)
    let owner = try await open("owner", "first")
    let commit = try await owner.commit(WriteBatch([.put("k", Data())]), from: StoreOrigin())
    for await change in changes {
      #expect(change == .commit(commit))
      break
    }
    try await owner.close()
    try await engine.close()
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.access = .readWrite
    let error = await #expect(throws: StorageError.self) {
      try await PostgreSQLEngine.open(location("writer", "first"), configuration: configuration)
    }
    #expect(error?.code == .permissionDenied)
  }

  @Test("No role gets or changes rows of a store that it was not granted, by any statement")
  func rowSecurity() async throws {
    try await prepare()
    let second = try await server.psql("SELECT store FROM coffer.stores WHERE name = 'second'", database: database)
    func asWriter(_ sql: String) async throws -> String {
      try await server.psql("SET ROLE writer_\(suffix); \(sql)", database: database)
    }
    for table in ["stores", "values", "journal", "quarantine"] {
      #expect(try await asWriter("SELECT count(*) FROM coffer.\(table) WHERE store = \(second)") == "0")
    }
    #expect(try await asWriter("SELECT count(*) FROM coffer.values") == "1")
    #expect(try await asWriter("SELECT count(DISTINCT role) FROM coffer.members") == "1")
    #expect(try await asWriter("SELECT count(*) FROM coffer.writers WHERE role <> current_user") == "0")
    for forbidden in [
      "INSERT INTO coffer.values VALUES (\(second), false, 'x', 1, 1, NULL, NULL, 'x')",
      "INSERT INTO coffer.journal VALUES (\(second), 9, 1, 'x', 'x', 1, 'x', 1)",
      "INSERT INTO coffer.members VALUES (current_user, \(second), true)",
      "INSERT INTO coffer.stores (store, name, epoch) VALUES (99, 'mine', 1)",
      "UPDATE coffer.values SET store = \(second)", "UPDATE coffer.members SET may_write = true, store = 0",
      "ALTER TABLE coffer.values DISABLE ROW LEVEL SECURITY", "DROP TABLE coffer.journal",
    ] {
      await #expect(throws: (any Error).self, "\(forbidden)") { try await asWriter(forbidden) }
    }
    #expect(try await asWriter("WITH c AS (DELETE FROM coffer.values RETURNING store) SELECT count(*) FROM c") == "1")
    #expect(
      try await asWriter("WITH c AS (UPDATE coffer.stores SET head = 0 RETURNING store) SELECT count(*) FROM c") == "1")
    let owner = try await open("owner", "second")
    #expect(try await owner.entry("k")?.value == Data("second".utf8))
    try await owner.close()
  }

  @Test("A store that is dropped under an open engine is missing, and its values are not absent")
  func dropped() async throws {
    try await prepare()
    let writer = try await open("writer", "first")
    _ = try await writer.entry("k")
    #expect(try await PostgreSQLAdministration(location("owner", "first")).drop())
    for key in ["k", "absent"] as [KeyName] {
      let error = await #expect(throws: StorageError.self) { try await writer.entry(key) }
      #expect(error?.code == .notFound)
    }
    let error = await #expect(throws: StorageError.self) {
      try await writer.commit(WriteBatch([.put("k", Data())]), from: StoreOrigin())
    }
    #expect(error?.code == .notFound)
    await #expect(throws: StorageError.self) { try await writer.summaries() }
    try await writer.close()
    let owner = try await open("owner", "second")
    #expect(try await owner.entry("k")?.value == Data("second".utf8))
    try await owner.close()
  }
}
