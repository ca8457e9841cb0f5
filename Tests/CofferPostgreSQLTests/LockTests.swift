import CofferCore
import CofferTestSupport
import Foundation
import Testing

@testable import CofferPostgreSQL

@Suite("PostgreSQL: held locks", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct LockTests {
  @Test(
    "A commit that waits for a lock of another session is 'busy' at the deadline, and names the session",
    arguments: ["stores", "values"], [false, true])
  func rowLock(_ table: String, hasPrecondition: Bool) async throws {
    let server = try await SharedServer.running()
    let database = try await server.newDatabase()
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = Instances().next()
    // A tenth of it is left for the search.
    configuration.answerTimeout = .seconds(8)
    let engine = try await PostgreSQLEngine.open(server.location(database), configuration: configuration)
    let first = try await engine.commit(WriteBatch([.put("k", Data())]), from: StoreOrigin())
    let other = try await connect(to: server, database: database)
    _ = try await other.outcomes([ServerCall(ServerStatement("BEGIN"))])
    _ = try await other.rows("SELECT 1 FROM coffer.\(table) FOR UPDATE")
    var batch = WriteBatch([.put("k", Data("new".utf8))])
    if hasPrecondition { batch = WriteBatch([.require("k", first.revision), .put("k", Data("new".utf8))]) }
    let error = await #expect(throws: StorageError.self) { try await engine.commit(batch, from: StoreOrigin()) }
    #expect(error?.code == .busy)
    let name = "process \(other.processID) of the role 'postgres', application 'coffer'"
    #expect(error?.message.contains(name) == true, "\(String(describing: error))")
    await other.close()
    let second = try await engine.commit(batch, from: StoreOrigin())
    #expect(second.revision == first.revision.next)
    try await engine.close()
  }

  /// The search never ends, so that a commit that waits for it is ended by the limit alone.
  @Test("A commit that gets its lock at last does not wait for the search for the holders", .timeLimit(.minutes(10)))
  func hangingSearch() async throws {
    let server = try await PostgreSQLServer()
    let database = try await server.newDatabase()
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.answerTimeout = .seconds(3_600)
    configuration.maximumReaders = 1
    let engine = try await PostgreSQLEngine.open(server.location(database), configuration: configuration)
    let first = try await engine.commit(WriteBatch([.put("k", Data())]), from: StoreOrigin())
    _ = try await engine.entry("k")
    let other = try await connect(to: server, database: database)
    _ = try await other.outcomes([ServerCall(ServerStatement("BEGIN"))])
    _ = try await other.rows("SELECT 1 FROM coffer.stores FOR UPDATE")
    func sessions(_ condition: String) async throws -> [Int32] {
      try await server.psql(
        "SELECT pid FROM pg_stat_activity WHERE datname = '\(database)' AND application_name = 'coffer' "
          + "AND \(condition)"
      ).split(separator: "\n").compactMap { Int32($0) }
    }
    let waits = "wait_event_type = 'Lock'"
    let committing = Task { try await engine.commit(WriteBatch([.put("k", Data())]), from: StoreOrigin()) }
    try await eventually("the writer waits") { try await !sessions(waits).isEmpty }
    let writer = try #require(try await sessions(waits).first)
    // The reader, which the search will use.
    let idle = try await sessions("pid NOT IN (\(writer), \(other.processID))")
    for process in idle { kill(process, SIGSTOP) }
    try await server.psql("SELECT pg_cancel_backend(\(writer))")
    try await eventually("another one waits") { try await sessions(waits).contains { $0 != writer } }
    _ = try await other.outcomes([ServerCall(ServerStatement("ROLLBACK"))])
    #expect(try await committing.value.revision == first.revision.next)
    for process in idle { kill(process, SIGCONT) }
    await other.close()
    try await engine.close()
  }
}
