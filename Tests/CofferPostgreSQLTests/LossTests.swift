import CofferCore
import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import CofferPostgreSQL

/// Notes the losses that a connection reports.
private final class LossLog: Sendable {
  private let losses = Locked<[ConnectionLoss]>([])
  let stream: AsyncStream<ConnectionLoss>

  init(_ connection: ServerConnection) {
    let (stream, continuation) = AsyncStream.makeStream(of: ConnectionLoss.self)
    self.stream = stream
    connection.onLoss { [losses] loss in
      losses.withLock { $0.append(loss) }
      continuation.yield(loss)
    }
  }

  var count: Int { losses.withLock { $0.count } }

  func next() async -> ConnectionLoss? {
    for await loss in stream { return loss }
    return nil
  }
}

@Suite("PostgreSQL: lost connections", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct LossTests {
  private static let sleep = ServerCall(ServerStatement("SELECT pg_sleep(600)"))
  private static let one = ServerCall(ServerStatement("SELECT 1::bigint"))

  private func loss(_ body: () async throws -> Void) async -> ConnectionLoss? {
    await #expect(throws: ConnectionLoss.self) { try await body() }
  }

  @Test("The end of an idle session is noticed, with its code")
  func idle() async throws {
    let server = try await SharedServer.running()
    let connection = try await connect(to: server)
    let log = LossLog(connection)
    try await server.psql("SELECT pg_terminate_backend(\(connection.processID))")
    let loss = await log.next()
    #expect(loss?.cause == .closedByPeer && loss?.sqlState == "57P01")
    #expect(!connection.isUsable && log.count == 1)
    let later = await self.loss { _ = try await connection.run([Self.one], within: .seconds(5)) }
    #expect(later?.mayHaveRun == false)
    // A handler that comes late is told at once.
    #expect(await LossLog(connection).next() == loss)
  }

  @Test("A session that ends during an exchange loses all that are under way")
  func terminated() async throws {
    let server = try await SharedServer.running()
    let connection = try await connect(to: server)
    let log = LossLog(connection)
    let tasks = (0..<3).map { _ in Task { try await connection.run([Self.sleep], within: .seconds(60)) } }
    try await eventually("all three are under way") {
      try await server.psql("SELECT wait_event FROM pg_stat_activity WHERE pid = \(connection.processID)") == "PgSleep"
        && connection.pending == 3
    }
    try await server.psql("SELECT pg_terminate_backend(\(connection.processID))")
    for task in tasks {
      let loss = await self.loss { _ = try await task.value }
      #expect(loss?.mayHaveRun == true && loss?.sqlState == "57P01")
    }
    #expect(await log.next()?.sqlState == "57P01")
    #expect(log.count == 1 && connection.pending == 0)
  }

  @Test("A killed and a stopped server")
  func killedServer() async throws {
    let server = try await PostgreSQLServer()
    let connection = try await connect(to: server)
    let log = LossLog(connection)
    server.pause()
    let late = await loss { _ = try await connection.run([Self.one], within: .milliseconds(300)) }
    #expect(late?.cause == .deadline && late?.mayHaveRun == true)
    #expect(await log.next()?.cause == .deadline)
    #expect(!connection.isUsable && log.count == 1)
    // Nor does a stopped server let a new connection wait for ever.
    var configuration = PostgreSQLEngine.Configuration()
    configuration.connectTimeout = .milliseconds(300)
    let target = try ConnectionTarget(server.location("postgres"), configuration)
    await expectStorageError(.unavailable, contains: "did not answer in time") {
      _ = try await ServerConnection.open(target)
    }
    server.resume()
    let second = try await connect(to: server)
    let task = Task { try await second.run([Self.sleep], within: .seconds(60)) }
    try await eventually("the exchange is under way") { second.pending == 1 }
    server.kill()
    let killed = await loss { _ = try await task.value }
    #expect(killed?.mayHaveRun == true)
    #expect(killed?.cause == .closedByPeer)
    await expectStorageError(.unavailable, contains: "No server listens") {
      _ = try await ServerConnection.open(target)
    }
  }

  @Test("A recovery from the crash of one process is another instance, although the server was not started anew")
  func recovery() async throws {
    let server = try await PostgreSQLServer()
    let connection = try await connect(to: server)
    let log = LossLog(connection)
    let other = try await connect(to: server)
    #expect(other.instance == connection.instance && connection.instance.system != nil)
    kill(other.processID, SIGKILL)
    #expect(await log.next() != nil)
    var found: ServerInstance?
    try await eventually("the server can be reached") {
      found = try? await connect(to: server).instance
      return found != nil
    }
    let instance = try #require(found)
    #expect(instance.started == connection.instance.started)
    #expect(instance.recovered > connection.instance.recovered)
    #expect(instance != connection.instance)
  }

  @Test("The transaction of an abandoned connection ends, and so does its session")
  func abandoned() async throws {
    let server = try await SharedServer.running()
    let connection = try await connect(to: server)
    let task = Task { try await connection.run([Self.one, Self.sleep], within: .seconds(60)) }
    try await eventually("the exchange is under way") { connection.pending == 1 }
    connection.abandon()
    let loss = await self.loss { _ = try await task.value }
    #expect(loss?.cause == .abandoned && loss?.mayHaveRun == true)
    connection.abandon()
    await connection.close()
  }

  @Test("The thread ends with the last connection, whose socket is closed")
  func threadEnds() async throws {
    let server = try await SharedServer.running()
    let loop = ConnectionLoop()
    var connection: ServerConnection? = try await connect(to: server, on: loop)
    let second = try await connect(to: server, on: loop)
    #expect(loop.isRunning)
    let ids = [connection?.processID ?? 0, second.processID]
    await second.close()
    connection = nil
    try await eventually("the loop ends") { !loop.isRunning }
    try await eventually("the sessions end") {
      try await server.psql("SELECT count(*) FROM pg_stat_activity WHERE pid IN (\(ids[0]), \(ids[1]))") == "0"
    }
    // A loop starts again.
    let third = try await connect(to: server, on: loop)
    #expect(try await third.rows("SELECT 7::bigint").int8(0, 0) == 7)
    await third.close()
    try await eventually("the loop ends") { !loop.isRunning }
  }

  @Test("Sockets are not inherited by programs")
  func closeOnExec() async throws {
    let server = try await SharedServer.running()
    let connection = try await connect(to: server)
    let descriptors = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap(Int32.init)
    let ours = descriptors.filter { descriptor in
      var address = sockaddr_in()
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &size) == 0 }
      }
      return isConnected && address.sin_family == AF_INET && Int(UInt16(bigEndian: address.sin_port)) == server.port
    }
    #expect(!ours.isEmpty)
    #expect(ours.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
    await connection.close()
  }
}
