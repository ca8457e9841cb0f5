import CofferCore
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

@testable import CofferPostgreSQL

/// Commits whose connection is lost: each is applied once or not at all, and its caller is told which.
@Suite("PostgreSQL: lost commits", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct LostCommitTests {
  let server: PostgreSQLServer
  let database: String
  let link: LinkProxy
  /// The way to the server that is used once the link does not work.
  let other: LinkProxy

  init() async throws {
    server = try await SharedServer.running()
    database = try await server.newDatabase()
    link = try LinkProxy(to: server.port)
    other = try LinkProxy(to: server.port)
  }

  /// Opens the store behind the link, with another link as the second host, and commits once.
  private func open() async throws -> (PostgreSQLEngine, StoreCommit) {
    other.mode = .cut
    defer { other.mode = .open }
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = Instances().next()
    configuration.connectTimeout = .seconds(10)
    configuration.answerTimeout = .seconds(3)
    let engine = try await PostgreSQLEngine.open(
      "postgresql://postgres@127.0.0.1:\(link.port),127.0.0.1:\(other.port)/\(database)?store=test",
      configuration: configuration)
    return (engine, try await engine.commit(WriteBatch([.put("a", Data("1".utf8))]), from: StoreOrigin()))
  }

  private func commits(of transaction: TransactionID) async throws -> Int {
    let id = transaction.uuidString.replacing("-", with: "").lowercased()
    return Int(
      try await server.psql(
        "SELECT count(*) FROM coffer.journal WHERE transaction = '\\x\(id)'", database: database)) ?? -1
  }

  @Test("A commit whose answer is lost is found to be applied, with its revision")
  func applied() async throws {
    let (engine, first) = try await open()
    let transaction = TransactionID()
    link.mode = .deaf
    let commit = try await engine.commit(
      WriteBatch([.put("a", Data("2".utf8))], transaction: transaction), from: StoreOrigin())
    #expect(commit.revision == first.revision.next)
    #expect(try await commits(of: transaction) == 1)
    #expect(try await engine.entry("a")?.revision == commit.revision)
    #expect(try await engine.entry("a")?.value == Data("2".utf8))
    try await engine.close()
  }

  @Test("A commit that has not reached the server is made again, once")
  func notApplied() async throws {
    let (engine, _) = try await open()
    let transaction = TransactionID()
    let writing = "SELECT pid FROM pg_stat_activity WHERE datname = '\(database)' AND query = 'COMMIT'"
    var writer = ""
    // The connection that has opened the store ends.
    try await eventually("the connection ends") {
      writer = try await server.psql(writing)
      return Int32(writer) != nil
    }
    link.mode = .stalled
    let commit = try await engine.commit(
      WriteBatch([.put("a", Data("2".utf8))], transaction: transaction), from: StoreOrigin())
    // What the link has held back arrives now: the writer is fenced, so that it fails.
    link.mode = .open
    let later = try await engine.commit(WriteBatch([.put("b", Data("3".utf8))]), from: StoreOrigin())
    #expect(later.revision == commit.revision.next)
    try await eventually("the writer ends") {
      try await !server.psql(writing).split(separator: "\n").contains { $0 == writer }
    }
    #expect(try await commits(of: transaction) == 1)
    #expect(try await engine.entry("a")?.revision == commit.revision)
    #expect(engine.latestRevision == later.revision)
    try await engine.close()
  }

  @Test("A group with failed preconditions is resolved batch by batch")
  func group() async throws {
    let (engine, seen) = try await open()
    link.mode = .deaf
    // The lock is answered too late already: nothing was applied, and the group is made again on the other host.
    var tasks: [Task<StoreCommit, any Error>] = []
    for number in 0..<8 {
      let revision = number.isMultiple(of: 2) ? nil : seen.revision
      tasks.append(
        Task {
          try await engine.commit(
            WriteBatch([.require("a", revision), .put(KeyName("k\(number)"), Data())]), from: StoreOrigin())
        })
    }
    var outcomes: [Bool] = []
    for task in tasks {
      do {
        _ = try await task.value
        outcomes.append(true)
      } catch let error as StorageError {
        #expect(error.code == .preconditionFailed)
        outcomes.append(false)
      }
    }
    #expect(outcomes == (0..<8).map { !$0.isMultiple(of: 2) })
    #expect(try await engine.summaries().count == 5)
    try await engine.close()
  }

  @Test("A primary without standbys says nothing of a commit that it does not know")
  func cutOffPrimary() async throws {
    let own = try await PostgreSQLServer(settings: [])
    let database = try await own.newDatabase()
    let engine = try await PostgreSQLEngine.open(own.location(database), configuration: .patient)
    try await engine.close()
    let connection = try await connect(to: own, database: database)
    try await own.psql("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
    try await own.psql("SELECT pg_reload_conf()")
    try await eventually("the setting applies") {
      try await connection.rows("SELECT current_setting('synchronous_standby_names')").text(0, 0) == "nobody"
    }
    // Commits wait only once the server's checkpointer knows the setting too, a moment later.
    var failure: ExchangeFailure?
    try await eventually("a commit waits") {
      do {
        _ = try await AttemptResolution.fence(UUID(), attempt: 1, on: connection, within: .milliseconds(500))
        return false
      } catch let error as ExchangeFailure {
        failure = error
        return true
      }
    }
    guard case .lost(let loss) = failure, loss.cause == .deadline else {
      throw TestFailure("\(String(describing: failure))")
    }
  }

  @Test("While the server is stopped, a commit throws outcomeUnknown in time, and the next works after it")
  func stopped() async throws {
    let own = try await PostgreSQLServer(settings: [])
    let database = try await own.newDatabase()
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.connectTimeout = .milliseconds(500)
    configuration.answerTimeout = .milliseconds(500)
    configuration.outcomeTimeout = .seconds(2)
    let engine = try await PostgreSQLEngine.open(own.location(database), configuration: configuration)
    try await engine.commit(WriteBatch([.put("a", Data("1".utf8))]), from: StoreOrigin())
    let states = engine.availability()
    own.pause()
    await #expect(throws: StorageError.self) {
      try await engine.commit(WriteBatch([.put("a", Data("2".utf8))]), from: StoreOrigin())
    }
    await #expect(throws: StorageError.self) { try await engine.entry("a") }
    own.resume()
    // Its availability returns by itself.
    for await state in states where state == .available && engine.latestRevision.rawValue == 1 { break }
    try await eventually("values are read again") {
      do {
        _ = try await engine.entry("a")
        return true
      } catch let error as StorageError where error.code == .unavailable {
        return false
      }
    }
    let commit = try await engine.commit(WriteBatch([.put("b", Data("3".utf8))]), from: StoreOrigin())
    #expect(try await engine.entry("b")?.revision == commit.revision)
    try await engine.close()
  }
}
