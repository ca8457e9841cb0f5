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
    var configuration = PostgreSQLConfiguration()
    configuration.instance = Instances().next()
    configuration.answerTimeout = .seconds(3)
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
}
