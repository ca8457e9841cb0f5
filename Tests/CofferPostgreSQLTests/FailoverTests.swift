import CofferCore
import CofferPostgreSQL
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// Writers of four processes while the primary fails: no acknowledged commit is lost, none is applied twice, and there
/// is an order that explains what every reader and writer was told.
@Suite("PostgreSQL: failover", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct FailoverTests {
  private static let sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'coffer'"

  @Test("No acknowledged commit is lost, and none is applied twice, whatever happens to the primary")
  func failovers() async throws {
    let cluster = try await PostgreSQLCluster()
    let database = try await cluster.leader.newDatabase()
    let location = "postgresql://postgres@\(await cluster.hosts)/\(database)?store=test"
    let workers = (0..<4).map { Worker(location, name: "\($0)", writers: 16) }
    let faults = PostgreSQLCluster.Fault.allCases
    for round in 0..<(isProving ? 50 : 3) {
      try await workers.progress()
      try await cluster.holdBack()
      try await workers.progress()
      try await cluster.failover(faults[round % faults.count])
      try await workers.progress()
      try await cluster.terminateCommits()
      await cluster.cutClients(true)
      let leader = await cluster.leader
      try await eventually("the sessions end") { try await leader.psql(Self.sessions) == "0" }
      await cluster.cutClients(false)
      if round == 1 || isProving {
        try await workers.progress()
        try await cluster.loseStandby()
      }
    }
    try await workers.progress()
    let leader = await cluster.leader
    try await workers.check { try await leader.psql($0, database: database) }
  }

  @Test("Clients see each other's commits at once, and leave a primary that is cut off and still runs")
  func unfenced() async throws {
    let cluster = try await PostgreSQLCluster()
    let database = try await cluster.leader.newDatabase()
    let location = "postgresql://postgres@\(await cluster.hosts)/\(database)?store=test"
    func open() async throws -> PostgreSQLEngine {
      var configuration = PostgreSQLEngine.Configuration.patient
      configuration.instance = Instances().next()
      configuration.answerTimeout = .seconds(2)
      return try await PostgreSQLEngine.open(location, configuration: configuration)
    }
    let (engine, reader) = (try await open(), try await open())
    // Standbys show commits later. A handle that writes would notice it by the revision.
    for number in 0..<10 {
      let commit = try await engine.commit(WriteBatch([.put("a", Data("\(number)".utf8))]), from: StoreOrigin())
      #expect(try await reader.entry("a")?.revision == commit.revision)
    }
    let first = try await engine.commit(WriteBatch([.put("a", Data("1".utf8))]), from: StoreOrigin())
    _ = try await reader.commit(WriteBatch([.put("b", Data("1".utf8))]), from: StoreOrigin())
    let old = await cluster.leader
    try await cluster.failover(.isolate, fencing: false)
    // The commit of one holds a lock on the old primary, for which the other waits.
    let waiting = Task {
      try await eventually("the commit is not confirmed") {
        try await old.psql(Self.sessions + " AND wait_event = 'SyncRep'") != "0"
      }
      return try await reader.commit(WriteBatch([.put("b", Data("2".utf8))]), from: StoreOrigin())
    }
    let second = try await engine.commit(
      WriteBatch([.require("a", first.revision), .put("a", Data("2".utf8))]), from: StoreOrigin())
    #expect(second.revision > first.revision)
    let third = try await waiting.value
    #expect(try await reader.entry("b")?.revision == third.revision)
    #expect(try await engine.entry("a")?.value == Data("2".utf8))
    let other = try await open()
    #expect(try await other.entry("a")?.revision == second.revision)
    let rows = try await cluster.leader.psql("SELECT count(*) FROM coffer.journal", database: database)
    #expect(rows == "14")
    for engine in [engine, reader, other] { try await engine.close() }
  }

  @Test(
    "No acknowledged commit is lost under pg_auto_failover",
    .enabled(
      if: isProving && AutoFailoverCluster.obstacle == nil,
      "\(AutoFailoverCluster.obstacle ?? "it takes minutes, and runs in ./run prove")"))
  func automatic() async throws {
    let cluster = try await AutoFailoverCluster()
    let database = "t" + UUID().uuidString.replacing("-", with: "").lowercased()
    try await cluster.psql("CREATE DATABASE \(database)", port: try await cluster.primary())
    let location = "postgresql://postgres@\(cluster.hosts)/\(database)?store=test"
    let workers = (0..<4).map { Worker(location, name: "\($0)", writers: 16) }
    for _ in 0..<5 {
      try await workers.progress()
      try await cluster.failover()
    }
    try await workers.progress()
    let primary = try await cluster.primary()
    try await workers.check { try await cluster.psql($0, port: primary, database: database) }
  }
}
