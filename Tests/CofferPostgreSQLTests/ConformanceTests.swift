import CofferCore
import CofferPostgreSQL
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// The conformance suite against a real server. Each check has a store of its own in one database.
@Suite("PostgreSQL: conformance", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct ConformanceTests {
  @Test(arguments: StorageConformance.checks)
  func conforms(_ check: StorageConformance.Check) async throws {
    let server = try await SharedServer.running()
    try await conformance(port: server.port, sharesConnections: true).run(check)
  }

  @Test("Handles of several processes conform", arguments: StorageConformance.checks)
  func conformsApart(_ check: StorageConformance.Check) async throws {
    let server = try await SharedServer.running()
    try await conformance(port: server.port, sharesConnections: false).run(check)
  }

  @Test("Handles behind a link that delays, and that is cut, conform", arguments: StorageConformance.checks)
  func conformsBehindALink(_ check: StorageConformance.Check) async throws {
    let link = try LinkProxy(to: try await SharedServer.running().port)
    link.delay = 1
    let conformance = try await conformance(port: link.port, sharesConnections: false, largest: 1 << 20) { _, isCut in
      link.mode = isCut ? .cut : .open
    }
    try await conformance.run(check)
  }

  @Test("Handles over TLS, whose certificate is verified, conform")
  func conformsOverTLS() async throws {
    let authority = try await TestAuthority()
    let server = try await PostgreSQLServer(
      settings: try await authority.settings(for: "127.0.0.1"),
      rules: ["local all all trust", "hostssl all all 127.0.0.1/32 trust"])
    let database = try await server.newDatabase()
    let options = StorageConformance.Options(
      handles: .openAgain, commitsToOutrunJournal: 40, largeValueSize: 1 << 20, largeBatchSteps: 200)
    let instance = Instances().next()
    let report = try await StorageConformance(name: "postgresql", options: options) { location in
      var configuration = PostgreSQLEngine.Configuration.patient
      configuration.journalRetention = 16
      configuration.tls = .verifyFull
      configuration.rootCertificates = authority.certificate
      configuration.instance = instance
      if let size = location.maximumValueSize { configuration.maximumValueSize = size }
      return try await PostgreSQLEngine.open(
        server.location(database, store: location.id.uuidString), configuration: configuration)
    }.run()
    #expect(report.passed.count > 100)
  }

  private func conformance(
    port: Int, sharesConnections: Bool, largest: Int = 16 << 20,
    interrupt: (@Sendable (StorageConformance.Location, Bool) async throws -> Void)? = nil
  ) async throws -> StorageConformance {
    let (server, database) = (try await SharedServer.running(), try await SharedServer.database())
    let options = StorageConformance.Options(
      handles: .openAgain, commitsToOutrunJournal: 40, largeValueSize: largest, largeBatchSteps: 500,
      interrupt: interrupt)
    let instances = Instances()
    return StorageConformance(name: "postgresql", options: options) { location in
      var configuration = PostgreSQLEngine.Configuration.patient
      configuration.journalRetention = 16
      if !sharesConnections { configuration.instance = instances.next() }
      if let size = location.maximumValueSize { configuration.maximumValueSize = size }
      return try await PostgreSQLEngine.open(
        server.location(database, store: location.id.uuidString, port: port), configuration: configuration)
    }
  }
}

/// Why no server can be started here.
let obstacle = Comment(rawValue: PostgreSQLServer.obstacle ?? "")
