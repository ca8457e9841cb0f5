import CofferCore
import CofferPostgreSQL
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Subscribers, also of a role that may only read, whose store is replaced or removed while they wait.
@Suite("PostgreSQL: watched stores", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct WatchTests {
  private func open(
    _ location: String, _ access: StoreAccess = .readWriteOrReadOnly
  ) async throws -> PostgreSQLEngine {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = Instances().next()
    configuration.access = access
    return try await PostgreSQLEngine.open(location, configuration: configuration)
  }

  /// Commits a number of values, and closes the store.
  private func put(_ location: String, _ numbers: ClosedRange<Int>, _ text: String = "value") async throws {
    let engine = try await open(location)
    for number in numbers {
      try await engine.commit(WriteBatch([.put("k", Data("\(text) \(number)".utf8))]), from: StoreOrigin())
    }
    try await engine.close()
  }

  /// What subscribers of an engine have received.
  private final class Subscriber: Sendable {
    private let seen = Locked((changes: [StoreChange](), states: [StoreAvailability]()))
    private let tasks: [Task<Void, Never>]

    init(_ engine: PostgreSQLEngine) {
      let (changes, states) = (engine.changes(since: nil), engine.availability())
      tasks = [
        Task { [seen] in for await change in changes { seen.withLock { $0.changes.append(change) } } },
        Task { [seen] in for await state in states { seen.withLock { $0.states.append(state) } } },
      ]
    }

    deinit { for task in tasks { task.cancel() } }

    var reloads: Int {
      seen.withLock { seen in seen.changes.count { if case .reload = $0 { true } else { false } } }
    }
    var state: StoreAvailability? { seen.withLock { $0.states.last } }
  }

  private static let others = "decode(md5(revision::text), 'hex')"

  @Test(
    "Every subscriber is told to reload when other commits take the place of known ones",
    arguments: [
      // A server that stays the same: the tables of a dump are put back by one transaction.
      "UPDATE coffer.stores SET head = 3; DELETE FROM coffer.journal WHERE revision > 3",
      "UPDATE coffer.journal SET transaction = \(others) WHERE revision > 3",
      """
      UPDATE coffer.journal SET transaction = \(others) WHERE revision > 3;
      INSERT INTO coffer.journal SELECT store, revision + 5, epoch, \(others), origin, committed_at, changed, checksum
        FROM coffer.journal;
      UPDATE coffer.stores SET head = 10
      """,
    ], [StoreAccess.readOnly, .readWrite])
  func replaced(_ sql: String, _ access: StoreAccess) async throws {
    let server = try await SharedServer.running()
    let database = try await server.newDatabase()
    try await put(server.location(database), 1...5)
    let engine = try await open(server.location(database), access)
    let subscriber = Subscriber(engine)
    try await server.psql("BEGIN; \(sql); COMMIT", database: database)
    try await eventually("the reload is told") { subscriber.reloads == 1 }
    // Commits of a process that knows nothing of the lost ones.
    try await put(server.location(database), 6...6)
    try await eventually("the value is read") { try await engine.entry("k")?.value == Data("value 6".utf8) }
    #expect(access == .readWrite || engine.latestRevision >= StoreRevision(5))
    try await engine.close()
  }

  @Test("A handle that only reads hears each commit of a history that has not reached the lost one yet")
  func behind() async throws {
    let server = try await SharedServer.running()
    let database = try await server.newDatabase()
    try await put(server.location(database), 1...9)
    let engine = try await open(server.location(database), .readOnly)
    let subscriber = Subscriber(engine)
    try await server.psql(
      "BEGIN; UPDATE coffer.stores SET head = 3; DELETE FROM coffer.journal WHERE revision > 3; COMMIT",
      database: database)
    for count in 1...3 {
      try await eventually("the reload is told") { subscriber.reloads == count }
      try await put(server.location(database), count...count)
    }
    try await engine.close()
  }

  @Test("A dump that is put back")
  func dump() async throws {
    let server = try await SharedServer.running()
    let database = try await server.newDatabase()
    let location = server.location(database)
    try await put(location, 1...3)
    let directory = try TemporaryDirectory()
    func run(_ program: String, _ arguments: [String]) async throws {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: program)
      process.arguments = arguments + ["-h", "127.0.0.1", "-p", "\(server.port)", "-U", "postgres", "-d", database]
      let ended = try await RunningProgram(process, in: directory.url).ended()
      guard ended.status == 0 else { throw TestFailure("\(program): \(ended.errors)") }
    }
    let binaries = try #require(PostgreSQLServer.binaries)
    try await run(binaries + "/pg_dump", ["-Fp", "-f", directory.path("dump.sql")])
    try await put(location, 4...5)
    let (reader, writer) = (try await open(location, .readOnly), try await open(location, .readWrite))
    let subscribers = [Subscriber(reader), Subscriber(writer)]
    try await server.psql("DROP SCHEMA coffer CASCADE", database: database)
    try await eventually("the loss is told") { subscribers.allSatisfy { $0.state?.isUsable == false } }
    try await run("/usr/bin/psql", ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", directory.path("dump.sql")])
    try await eventually("the return is told") {
      subscribers.allSatisfy { $0.reloads >= 1 && $0.state == .available }
    }
    #expect(try await reader.entry("k")?.value == Data("value 3".utf8))
    try await put(location, 6...6)
    try await eventually("the value is read") { try await reader.entry("k")?.value == Data("value 6".utf8) }
    try await reader.close()
    try await writer.close()
  }

  @Test("A cold copy of the server's data that is put back")
  func coldCopy() async throws {
    let server = try await PostgreSQLServer()
    let database = try await server.newDatabase()
    let location = server.location(database)
    try await put(location, 1...3)
    server.stop()
    let copy = server.folder.appendingPathComponent("copy")
    let (copying, output) = (Process(), try TemporaryDirectory())
    copying.executableURL = URL(fileURLWithPath: "/bin/cp")
    copying.arguments = ["-a", server.data, copy.path]
    #expect(try await RunningProgram(copying, in: output.url).ended().status == 0)
    try await server.start()
    try await put(location, 4...5)
    let engine = try await open(location, .readOnly)
    let subscriber = Subscriber(engine)
    server.stop()
    try FileManager.default.removeItem(atPath: server.data)
    try FileManager.default.moveItem(atPath: copy.path, toPath: server.data)
    try await server.start()
    try await put(location, 4...5, "other")
    try await eventually("the reload is told") { subscriber.reloads == 1 }
    #expect(try await engine.entry("k")?.value == Data("other 5".utf8))
    try await engine.close()
  }

  @Test("A standby that lacks commits is promoted")
  func failover() async throws {
    let primary = try await PostgreSQLServer()
    let link = try LinkProxy(to: primary.port)
    let database = try await primary.newDatabase()
    try await put(primary.location(database), 1...3)
    let standby = try await PostgreSQLServer(standbyOf: primary, named: "s1", through: link.port)
    link.mode = .cut
    try await put(primary.location(database), 4...5)
    let hosts = "127.0.0.1:\(primary.port),127.0.0.1:\(standby.port)"
    let engine = try await open("postgresql://postgres@\(hosts)/\(database)?store=test", .readOnly)
    let subscriber = Subscriber(engine)
    primary.stop()
    try await standby.psql("SELECT pg_promote(true, 30)")
    try await put(standby.location(database), 4...5, "other")
    try await eventually("the reload is told") { subscriber.reloads == 1 }
    #expect(try await engine.entry("k")?.value == Data("other 5".utf8))
    try await engine.close()
  }

  @Test(
    "A store that is gone, or that the role may not read any more, is unavailable, and is read again when it is back",
    arguments: [
      "DROP", "DROP SCHEMA coffer CASCADE", "DROP TABLE coffer.stores CASCADE", "DROP TABLE coffer.values CASCADE",
      "DROP TABLE coffer.journal CASCADE", "DROP TABLE coffer.writers CASCADE", "DROP TABLE coffer.members CASCADE",
      "DROP TABLE coffer.quarantine CASCADE", "DROP TABLE coffer.format CASCADE", "DELETE FROM coffer.members",
      "REVOKE SELECT ON coffer.values FROM ROLE", "REVOKE SELECT ON coffer.stores FROM ROLE",
      "REVOKE SELECT ON coffer.journal FROM ROLE", "REVOKE USAGE ON SCHEMA coffer FROM ROLE",
    ])
  func gone(_ sql: String) async throws {
    let server = try await SharedServer.running()
    let role = "reader_" + UUID().uuidString.prefix(8).lowercased()
    try await server.psql("CREATE ROLE \(role) LOGIN")
    let database = try await server.newDatabase()
    let location = server.location(database)
    try await put(location, 1...3)
    let administration = try PostgreSQLAdministration(location)
    try await administration.grant(role, mayWrite: false)
    let engine = try await open(server.location(database, user: role))
    #expect(engine.isReadOnly)
    let subscriber = Subscriber(engine)
    try await eventually("the store is available") { subscriber.state == .available }
    if sql == "DROP" {
      #expect(try await administration.drop())
    } else {
      try await server.psql(sql.replacing("ROLE", with: role), database: database)
    }
    try await eventually("the loss is told") { subscriber.state?.isUsable == false }
    if sql.hasPrefix("REVOKE") {
      try await administration.grant(role, mayWrite: false)
      try await eventually("the return is told") {
        subscriber.state == .available && subscriber.reloads == 1
      }
    } else if sql == "DROP" {
      // The store of the same name that is created now is another one.
      #expect(try await administration.initialize())
      try await administration.grant(role, mayWrite: false)
      let error = await #expect(throws: StorageError.self) { try await engine.entry("k") }
      #expect(error?.code == .notFound)
      #expect(subscriber.state?.isUsable == false)
    }
    try await engine.close()
  }
}
