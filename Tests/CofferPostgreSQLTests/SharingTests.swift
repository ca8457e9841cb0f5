import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferPostgreSQL

/// What the handles of a process on one store share.
@Suite("PostgreSQL: sharing", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct SharingTests {
  let server: PostgreSQLServer
  let database: String
  let instance = Instances().next()

  init() async throws {
    server = try await SharedServer.running()
    database = try await server.newDatabase()
  }

  private func open(_ access: StoreAccess = .readWriteOrReadOnly, user: String = "postgres") async throws
    -> PostgreSQLEngine
  {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = instance
    configuration.access = access
    return try await PostgreSQLEngine.open(
      server.location(database, store: "test", user: user), configuration: configuration)
  }

  private func put(_ engine: PostgreSQLEngine, _ key: KeyName, _ text: String = "v") async throws -> StoreCommit {
    try await engine.commit(WriteBatch([.put(key, Data(text.utf8))]), from: StoreOrigin())
  }

  private func connections() async throws -> Int {
    Int(
      try await server.psql(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = '\(database)' AND application_name = 'coffer'")) ?? -1
  }

  @Test("Handles that are opened at once share one store")
  func openedAtOnce() async throws {
    let engines = try await withThrowingTaskGroup(of: PostgreSQLEngine.self) { group in
      for _ in 0..<16 { group.addTask { try await open() } }
      var engines: [PostgreSQLEngine] = []
      for try await engine in group { engines.append(engine) }
      return engines
    }
    for (number, engine) in engines.enumerated() {
      let commit = try await put(engine, "k", "\(number)")
      #expect(engines.allSatisfy { $0.latestRevision == commit.revision })
    }
    for engine in engines { try await engine.close() }
    try await eventually("the connections are closed") { try await connections() == 0 }
  }

  @Test("Many reads after the loss of all connections open few new ones")
  func manyReads() async throws {
    let engine = try await open()
    let revision = try await put(engine, "k").revision
    _ = try await engine.entry("k")
    try await server.psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(database)'")
    try await withThrowingTaskGroup(of: StoreRevision?.self) { group in
      for _ in 0..<300 { group.addTask { try await engine.entry("k")?.revision } }
      for try await found in group { #expect(found == revision) }
    }
    #expect(try await connections() <= 3)
    try await engine.close()
  }

  @Test("Closing a handle waits for its commits, and not for those that others make later")
  func closesWhileOthersWrite() async throws {
    let (busy, other) = (try await open(), try await open())
    let writers = (0..<4).map { number in
      Task {
        while !Task.isCancelled { _ = try await put(busy, KeyName("w\(number)")) }
      }
    }
    let mine = Task { try await put(other, "mine") }
    let commit = try await mine.value
    try await other.close()
    #expect(try await busy.entry("mine")?.revision == commit.revision)
    for writer in writers { writer.cancel() }
    for writer in writers { _ = await writer.result }
    try await busy.close()
  }

  @Test("A handle that must write does not get a store that is open for reading only")
  func mustWrite() async throws {
    let role = "reader_\(UUID().uuidString.prefix(8).lowercased())"
    try await server.psql("CREATE ROLE \(role) LOGIN")
    try await open().close()
    let administration = try PostgreSQLAdministration(server.location(database, store: "test"))
    try await administration.grant(role, mayWrite: false)
    let reader = try await open(user: role)
    #expect(reader.isReadOnly)
    await expectStorageError(.permissionDenied, contains: "may only read") {
      _ = try await open(.readWrite, user: role)
    }
    #expect(try await reader.entry("k") == nil)
    try await reader.close()
  }
}
