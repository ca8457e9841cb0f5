import CofferCore
import CofferTestSupport
import Foundation
import Testing

@testable import CofferPostgreSQL

@Suite("PostgreSQL: bells")
struct BellTests {
  @Test("A ring without a waiting task ends the next wait, once")
  func early() async {
    let bell = Bell()
    bell.ring()
    bell.ring()
    #expect(await bell.wait(atMost: .seconds(60)))
    #expect(await bell.wait(atMost: .milliseconds(1)) == false)
  }

  @Test("A ring wakes the waiting task")
  func wakes() async {
    let bell = Bell()
    // With enough turns, the task waits before the ring.
    for turns in 0..<200 {
      let task = Task { await bell.wait(atMost: .seconds(60)) }
      for _ in 0..<turns { await Task.yield() }
      bell.ring()
      #expect(await task.value)
    }
  }

  @Test("A cancelled task stops waiting, and the bell works afterwards")
  func cancelled() async {
    let bell = Bell()
    for turns in 0..<200 {
      let task = Task { await bell.wait(atMost: .seconds(60)) }
      for _ in 0..<turns { await Task.yield() }
      task.cancel()
      #expect(await task.value == false)
    }
    bell.ring()
    #expect(await bell.wait(atMost: .seconds(60)))
  }

  @Test("The end of an earlier wait does not end a later one")
  func waitsAgain() async {
    let bell = Bell()
    for _ in 0..<50 {
      bell.ring()
      #expect(await bell.wait(atMost: .milliseconds(2)))
    }
    let task = Task { await bell.wait(atMost: .seconds(60)) }
    // Ends after the times of the earlier waits.
    #expect(await Bell().wait(atMost: .milliseconds(4)) == false)
    bell.ring()
    #expect(await task.value)
  }
}

@Suite("PostgreSQL: hints", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct HintsTests {
  let server: PostgreSQLServer
  let database: String

  init() async throws {
    server = try await SharedServer.running()
    database = try await server.newDatabase()
  }

  private func open() async throws -> PostgreSQLEngine {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = Instances().next()
    return try await PostgreSQLEngine.open(server.location(database, store: "test"), configuration: configuration)
  }

  private func put(_ engine: PostgreSQLEngine, _ number: Int) async throws -> StoreCommit {
    try await engine.commit(WriteBatch([.put("k", Data("\(number)".utf8))]), from: StoreOrigin())
  }

  @Test("Many commits send few hints, of which the last names the last commit")
  func burst() async throws {
    let engine = try await open()
    let id = try #require(
      Int64(try await server.psql("SELECT store FROM coffer.stores WHERE name = 'test'", database: database)))
    let listener = try await connect(to: server, database: database)
    let heard = Locked<[String]>([])
    listener.onNotification { _, payload in heard.withLock { $0.append(payload) } }
    _ = try await listener.rows("LISTEN \"coffer_\(String(UInt64(bitPattern: id), radix: 16))\"")
    let start = ContinuousClock.now
    var last = try await put(engine, 0)
    for number in 1..<300 { last = try await put(engine, number) }
    try await eventually("the last hint arrives") {
      heard.withLock { $0.last }?.split(separator: " ").last == "\(last.revision)"
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let count = heard.withLock { $0.count }
    #expect(Double(count) <= 20 * seconds + 2, "\(count) in \(seconds) s")
    await listener.close()
    try await engine.close()
  }

  @Test("A process whose listening connection was ended listens again")
  func endedListener() async throws {
    let (engine, other) = (try await open(), try await open())
    let stream = other.changes(since: nil)
    let listening = "FROM pg_stat_activity WHERE datname = '\(database)' AND query LIKE 'LISTEN%'"
    func listener() async throws -> String { try await server.psql("SELECT min(pid) \(listening)") }
    try await eventually("it listens") { try await listener() != "" }
    let first = try await listener()
    try await server.psql("SELECT pg_terminate_backend(pid) \(listening)")
    try await eventually("it listens again") { ![first, ""].contains(try await listener()) }
    let commit = try await put(engine, 1)
    for await change in stream {
      #expect(change == .commit(commit))
      break
    }
    try await engine.close()
    try await other.close()
  }
}
