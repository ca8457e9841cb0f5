import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferPostgreSQL

/// What a server may decide that has not confirmed a commit: nothing, as long as another one may be the primary.
@Suite("PostgreSQL: unconfirmed servers", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct ConfirmationTests {
  let server: PostgreSQLServer
  let database: String
  /// A slow way to the server.
  let link: LinkProxy

  init() async throws {
    server = try await SharedServer.running()
    database = try await server.newDatabase()
    link = try LinkProxy(to: server.port)
    link.delay = 50
  }

  private func configuration() -> PostgreSQLEngine.Configuration {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = Instances().next()
    return configuration
  }

  private func location(_ ports: Int..., user: String = "postgres") -> String {
    "postgresql://\(user)@\(ports.map { "127.0.0.1:\($0)" }.joined(separator: ","))/\(database)?store=test"
  }

  /// Lets a server confirm no commit.
  private func cutOff(_ server: PostgreSQLServer) async throws {
    try await server.psql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    try await server.psql("SELECT pg_reload_conf()")
    try await eventually("the setting applies") {
      try await server.psql("SHOW synchronous_standby_names") == "nobody"
    }
  }

  @Test("A primary that confirms nothing does not say that the role has no rights")
  func rights() async throws {
    let (stale, role) = (try await PostgreSQLServer(), "r" + UUID().uuidString.prefix(8).lowercased())
    try await stale.psql("CREATE DATABASE \(database)")
    for each in [stale, server] {
      try await each.psql("CREATE ROLE \(role) LOGIN")
      let administration = try PostgreSQLAdministration(each.location(database))
      #expect(try await administration.initialize())
      if each === server { try await administration.grant(role, mayWrite: true) }
    }
    try await cutOff(stale)
    var configuration = configuration()
    configuration.access = .readWriteOrReadOnly
    configuration.answerTimeout = .seconds(2)
    let engine = try await PostgreSQLEngine.open(
      location(stale.port, link.port, user: role), configuration: configuration)
    try await engine.commit(WriteBatch([.put("k", Data())]), from: StoreOrigin())
    try await engine.close()
    await expectStorageError(.permissionDenied, contains: "42501") {
      _ = try await PostgreSQLEngine.open(location(1, stale.port, user: role), configuration: readOnly)
    }
  }

  private var readOnly: PostgreSQLEngine.Configuration {
    var configuration = configuration()
    configuration.access = .readOnly
    return configuration
  }

  @Test("A process that only reads uses the newest of several primaries that answer")
  func timelines() async throws {
    let old = try await PostgreSQLServer()
    try await old.psql("CREATE DATABASE \(database)")
    try await old.psql("CREATE ROLE reader LOGIN")
    let administration = try PostgreSQLAdministration(old.location(database))
    #expect(try await administration.initialize())
    try await administration.grant("reader", mayWrite: false)
    let new = try await PostgreSQLServer(standbyOf: old, named: "new", through: old.port)
    try await new.psql("SELECT pg_promote(true, 60)")
    for (server, text) in [(old, "old"), (new, "new")] {
      let engine = try await PostgreSQLEngine.open(server.location(database), configuration: configuration())
      try await engine.commit(WriteBatch([.put("k", Data(text.utf8))]), from: StoreOrigin())
      try await engine.close()
    }
    let slow = try LinkProxy(to: new.port)
    slow.delay = 10
    func read(_ ports: Int...) async throws -> Data? {
      let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
      let engine = try await PostgreSQLEngine.open(
        "postgresql://reader@\(hosts)/\(database)?store=test", configuration: readOnly)
      let value = try await engine.entry("k")?.value
      try await engine.close()
      return value
    }
    #expect(try await read(old.port, 1) == Data("old".utf8))
    // On a busy machine it may come too late once.
    for ports in [[old.port, slow.port], [slow.port, old.port]] {
      try await eventually("the new value is read") {
        try await read(ports[0], ports[1], 1) == Data("new".utf8)
      }
    }
  }

  @Test("A primary that confirms nothing neither creates a store nor says that there is none")
  func absence() async throws {
    let first = try await PostgreSQLEngine.open(location(server.port), configuration: configuration())
    let commit = try await first.commit(WriteBatch([.put("k", Data())]), from: StoreOrigin())
    try await first.close()
    let stale = try await PostgreSQLServer()
    try await stale.psql("CREATE DATABASE \(database)")
    try await cutOff(stale)
    for (creates, access) in [
      (true, StoreAccess.readWriteOrReadOnly), (false, .readWriteOrReadOnly), (true, .readWrite),
    ] {
      var configuration = configuration()
      (configuration.createsIfMissing, configuration.access) = (creates, access)
      configuration.answerTimeout = .seconds(2)
      let engine = try await PostgreSQLEngine.open(location(stale.port, link.port), configuration: configuration)
      #expect(try await engine.entry("k")?.revision == commit.revision)
      try await engine.close()
    }
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'coffer'"
    #expect(try await stale.psql(schemas, database: database) == "0")
  }

  @Test("The refusal of one host does not end the search, and is what is reported if no other can be used")
  func refusal() async throws {
    func open(_ ports: [Int]) async throws -> Int {
      let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
      let target = try ConnectionTarget("postgresql://postgres@\(hosts)/postgres?store=s", configuration())
      let outcome = try await HostRace(target: target, loop: .shared).run { server throws(ExchangeFailure) in
        guard server.instance.port == link.port else { throw .refused(StorageError(.damaged, "Refused.")) }
      }
      guard case .opened(let connection, _) = outcome else { throw TestFailure("\(outcome)") }
      await connection.close()
      return connection.instance.port
    }
    #expect(try await open([server.port, link.port]) == link.port)
    await #expect(throws: ExchangeFailure.self) { try await open([server.port, 1]) }
  }

  @Test("A server that has confirmed nothing does not take the place of one that has")
  func displacement() async throws {
    let database = PostgreSQLDatabase(try ConnectionTarget(location(server.port), configuration()), configuration())
    let first = try await database.open()
    #expect(await database.confirm(first))
    let other = try await ServerConnection.open(try ConnectionTarget(location(link.port), configuration()))
    database.noteUse(of: other.instance, isConfirmed: false)
    #expect(database.isConfirmed(first))
    database.noteUse(of: other.instance, isConfirmed: true)
    #expect(database.isConfirmed(other) && !database.isConfirmed(first))
    for connection in [first, other] { await connection.close() }
    await database.close()
  }
}
