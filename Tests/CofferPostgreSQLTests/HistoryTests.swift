import CofferCore
import CofferPostgreSQL
import CofferTestSupport
import CofferTesting
import Foundation
import Testing

/// A server whose history was replaced by an older one, on which others have committed before anybody looked.
@Suite("PostgreSQL: replaced histories", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct HistoryTests {
  private func put(_ engine: PostgreSQLEngine, _ text: String) async throws -> StoreCommit {
    try await engine.commit(WriteBatch([.put("k", Data(text.utf8))]), from: StoreOrigin())
  }

  enum Meanwhile: CaseIterable {
    case nothing, commit, commitsOfAnother
  }

  @Test("A process that knows a lost commit is not told that its history goes on", arguments: Meanwhile.allCases)
  func replaced(_ meanwhile: Meanwhile) async throws {
    let server = try await PostgreSQLServer()
    let database = try await server.newDatabase()
    let link = try LinkProxy(to: server.port)
    let engine = try await open(link.port, database)
    for number in 1...5 { _ = try await put(engine, "\(number)") }
    let (position, stream) = (engine.latestPosition, engine.changes(since: nil))
    // One that has not heard the lost commits reads them from the journal first.
    let behind = engine.changes(since: JournalPosition(epoch: position.epoch, revision: StoreRevision(3)))
    link.mode = .cut
    try await restore(server, database)
    let other = try await open(server.port, database)
    for number in 4...7 { _ = try await put(other, "other \(number)") }
    // They pass any revision at which this process could continue before it does.
    let others = Task {
      while meanwhile == .commitsOfAnother, !Task.isCancelled { _ = try await put(other, "\(UUID())") }
    }
    defer { others.cancel() }
    link.mode = .open
    let late = Task { for await _ in behind {} }
    defer { late.cancel() }
    if meanwhile == .commit {
      let commit = try await eventuallyPut(engine)
      #expect(try await other.entry("k")?.revision == commit.revision)
    }
    var heard: StoreChange?
    for await change in stream {
      heard = change
      break
    }
    guard case .reload(let revision) = heard else { throw TestFailure("\(String(describing: heard))") }
    #expect(revision.rawValue > 7)
    #expect(try await engine.entry("k") != nil)
    #expect(engine.latestPosition.epoch != position.epoch)
    others.cancel()
    try? await others.value
    var again = engine.changes(since: position).makeAsyncIterator()
    guard case .reload? = await again.next() else { throw TestFailure("an old position was continued") }
    let next = try await put(engine, "next")
    #expect(next.revision > revision)
    #expect(try await other.entry("k")?.value == Data("next".utf8))
    try await engine.close()
    try await other.close()
  }

  @Test("A handle that only reads tells its subscribers to reload, even if the newest revision is the same")
  func replacedForReaders() async throws {
    let server = try await PostgreSQLServer()
    let database = try await server.newDatabase()
    let link = try LinkProxy(to: server.port)
    let writer = try await open(server.port, database)
    for number in 1...5 { _ = try await put(writer, "\(number)") }
    try await writer.close()
    let reader = try await open(link.port, database, .readOnly)
    #expect(reader.isReadOnly && reader.latestRevision == StoreRevision(5))
    var stream = reader.changes(since: nil).makeAsyncIterator()
    link.mode = .cut
    try await restore(server, database)
    let other = try await open(server.port, database)
    for number in 4...5 { _ = try await put(other, "other \(number)") }
    link.mode = .open
    #expect(await stream.next() == .reload(upTo: StoreRevision(5)))
    let next = try await put(other, "next")
    #expect(await stream.next() == .commit(next))
    #expect(try await reader.entry("k")?.revision == next.revision)
    try await reader.close()
    try await other.close()
  }

  private func open(
    _ port: Int, _ database: String, _ access: StoreAccess = .readWriteOrReadOnly
  ) async throws -> PostgreSQLEngine {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = Instances().next()
    configuration.access = access
    return try await PostgreSQLEngine.open(
      "postgresql://postgres@127.0.0.1:\(port)/\(database)?store=test", configuration: configuration)
  }

  /// Puts an older state back, without the last two commits, as a restored backup.
  private func restore(_ server: PostgreSQLServer, _ database: String) async throws {
    try await server.psql(
      "DELETE FROM coffer.journal WHERE revision > 3; UPDATE coffer.stores SET head = 3; DELETE FROM coffer.values",
      database: database)
    server.stop()
    try await server.start()
  }

  @Test("A server that was only started anew continues its history")
  func restarted() async throws {
    let server = try await PostgreSQLServer()
    let database = try await server.newDatabase()
    let engine = try await PostgreSQLEngine.open(server.location(database), configuration: .patient)
    let first = try await put(engine, "1")
    let stream = engine.changes(since: nil)
    let position = engine.latestPosition
    server.stop()
    try await server.start()
    let second = try await eventuallyPut(engine)
    #expect(second.revision == first.revision.next)
    for await change in stream {
      #expect(change == .commit(second))
      break
    }
    #expect(engine.latestPosition.epoch == position.epoch)
    try await engine.close()
  }

  /// Commits once the server can be reached again.
  private func eventuallyPut(_ engine: PostgreSQLEngine) async throws -> StoreCommit {
    var commit: StoreCommit?
    try await eventually("the server can be reached") {
      do { commit = try await put(engine, "mine") } catch let error as StorageError where error.code == .unavailable {}
      return commit != nil
    }
    return try #require(commit)
  }
}
