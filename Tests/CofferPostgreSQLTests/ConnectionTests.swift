import CofferCore
import CofferTestSupport
import Foundation
import Testing

@testable import CofferPostgreSQL

/// Connects as the superuser.
func connect(
  to server: PostgreSQLServer, on loop: ConnectionLoop = .shared, database: String = "postgres"
) async throws -> ServerConnection {
  try await ServerConnection.open(
    try ConnectionTarget(server.location(database), PostgreSQLEngine.Configuration.patient), on: loop)
}

extension ServerConnection {
  func outcomes(_ calls: [ServerCall], within: Duration = .seconds(30)) async throws -> [CallOutcome] {
    try await run(calls, within: within).outcomes
  }

  /// The rows of the only call.
  func rows(_ text: String, _ types: [ServerType] = [], _ values: [ServerValue] = []) async throws -> ServerRows {
    let outcomes = try await outcomes([ServerCall(ServerStatement(text, types), values)])
    guard outcomes.count == 1, case .rows(let rows) = outcomes[0] else { throw UnexpectedOutcome(outcomes: outcomes) }
    return rows
  }
}

struct UnexpectedOutcome: Error { let outcomes: [CallOutcome] }

extension CallOutcome {
  /// `rows`, the code of a failure, or `skipped`.
  var kind: String {
    switch self {
    case .rows: "rows"
    case .failed(let failure): failure.sqlState
    case .skipped: "skipped"
    }
  }
}

@Suite("PostgreSQL: exchanges", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct ExchangeTests {
  let server: PostgreSQLServer
  let connection: ServerConnection

  init() async throws {
    server = try await SharedServer.running()
    connection = try await connect(to: server)
  }

  @Test("Each type comes back as it was sent")
  func values() async throws {
    let id = UUID()
    let rows = try await connection.rows(
      "SELECT $1, $2, $3, $4, $5, $6, $7",
      [.int8, .bool, .bytes, .text, .uuid, .bytesArray, .int8Array],
      [
        .int8(.min), .bool(true), .bytes(Data([0, 255])), .text("é😀"), .uuid(id),
        .bytesArray([Data([1]), nil, Data()]),
        .int8Array([-1, nil]),
      ])
    #expect(rows.count == 1 && rows.columns == 7 && rows.tag == "SELECT 1" && rows.affected == 1)
    #expect(rows.int8(0, 0) == .min)
    #expect(rows.bool(0, 1))
    #expect(rows.data(0, 2) == Data([0, 255]))
    #expect(rows.text(0, 3) == "é😀")
    #expect(rows.uuid(0, 4) == id)
    let parts = try await connection.rows(
      "SELECT a, b FROM unnest($1, $2) AS t(a, b)", [.bytesArray, .int8Array],
      [.bytesArray([Data([1]), nil, Data()]), .int8Array([-1, nil, 7])])
    #expect((0..<3).map { parts.isNull($0, 0) } == [false, true, false])
    #expect((0..<3).map { parts.data($0, 0) } == [Data([1]), Data(), Data()])
    #expect((0..<3).map { parts.int8($0, 1) } == [-1, 0, 7])
    let empty = try await connection.rows("SELECT count(*) FROM unnest($1)", [.bytesArray], [.bytesArray([])])
    #expect(empty.int8(0, 0) == 0)
    let null = try await connection.rows("SELECT $1, ''::bytea", [.bytes], [.null])
    #expect(null.isNull(0, 0) && !null.isNull(0, 1) && null.isNull(1, 0) && null.isNull(0, 2))
  }

  @Test("Large values flow in both directions at once, and small ones beside them")
  func largeValues() async throws {
    let large = Data((0..<(16 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
    try await withThrowingTaskGroup(of: Bool.self) { [connection] group in
      for number in 0..<12 {
        group.addTask {
          let value = number.isMultiple(of: 3) ? large : Data([UInt8(number)])
          let rows = try await connection.rows("SELECT $1", [.bytes], [.bytes(value)])
          return rows.withBytes(0, 0) { value.elementsEqual($0) }
        }
      }
      for try await isEqual in group { #expect(isEqual) }
    }
    #expect(connection.hasLargeBuffers)
  }

  @Test("A value of 64 MiB")
  func largestValue() async throws {
    let value = Data(count: 64 << 20)
    let rows = try await connection.rows("SELECT length($1)::bigint, $1", [.bytes], [.bytes(value)])
    #expect(rows.int8(0, 0) == 64 << 20)
    #expect(rows.withBytes(0, 1) { $0.count } == 64 << 20)
  }

  @Test("Exchanges of many tasks get their own answers, and failures concern nobody else")
  func concurrency() async throws {
    let divide = ServerStatement("SELECT 42 * $1 / $1", [.int8])
    let wrong = try await withThrowingTaskGroup(of: Int.self) { [connection] group in
      for task in 0..<64 {
        group.addTask {
          var wrong = 0
          for step in 0..<50 {
            let number = Int64((task + step) % 7)
            let outcomes = try await connection.outcomes([
              ServerCall(divide, [.int8(number)]), ServerCall(ServerStatement("SELECT $1", [.int8]), [.int8(number)]),
            ])
            let isRight =
              if number == 0 {
                outcomes.map(\.kind) == ["22012", "skipped"]
              } else if case .rows(let rows) = outcomes[1] {
                rows.int8(0, 0) == number
              } else {
                false
              }
            if !isRight { wrong += 1 }
          }
          return wrong
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(wrong == 0)
    #expect(connection.isUsable && connection.pending == 0)
  }

  @Test("What follows a failure is skipped, and the next exchange is not")
  func failure() async throws {
    func call(_ text: String) -> ServerCall { ServerCall(ServerStatement(text)) }
    let outcomes = try await connection.outcomes([call("SELECT 1"), call("SELECT 1/0"), call("SELECT 2")])
    #expect(outcomes.map(\.kind) == ["rows", "22012", "skipped"])
    #expect(try await connection.outcomes([call("SELECT 3")]).map(\.kind) == ["rows"])
    // An exchange without statements is answered, too.
    #expect(try await connection.outcomes([]).isEmpty)
    #expect(try await connection.outcomes([call("")]).map(\.kind) == ["rows"])
    let (begin, commit) = (call("BEGIN"), call("COMMIT"))
    #expect(
      try await connection.outcomes([begin, call("SELECT 1/0"), commit]).map(\.kind) == ["rows", "22012", "skipped"])
    guard case .rows(let rows) = try await connection.outcomes([commit])[0] else { return }
    #expect(rows.tag == "ROLLBACK")
  }

  @Test("A statement that cannot be prepared fails as itself, and is prepared once it can be")
  func preparation() async throws {
    let table = "p" + UUID().uuidString.replacing("-", with: "")
    let insert = ServerStatement("INSERT INTO public.\(table) VALUES ($1)", [.int8])
    let one = ServerCall(ServerStatement("SELECT 1"))
    async let first = connection.outcomes([one, ServerCall(insert, [.int8(1)])])
    async let second = connection.outcomes([ServerCall(insert, [.int8(1)]), one])
    #expect(try await first.map(\.kind) == ["rows", "42P01"])
    #expect(try await second.map(\.kind) == ["42P01", "skipped"])
    let create = ServerStatement("CREATE TABLE public.\(table) (a bigint PRIMARY KEY)", isPrepared: false)
    #expect(try await connection.outcomes([ServerCall(create)]).map(\.kind) == ["rows"])
    #expect(try await connection.outcomes([ServerCall(insert, [.int8(1)])]).map(\.kind) == ["rows"])
    guard case .failed(let failure) = try await connection.outcomes([ServerCall(insert, [.int8(1)])])[0] else {
      Issue.record("a duplicate was inserted")
      return
    }
    #expect(failure.sqlState == "23505")
    // A changed table changes what the prepared statement is; it is not lost.
    try await server.psql("ALTER TABLE public.\(table) ADD b text; TRUNCATE public.\(table)")
    #expect(try await connection.outcomes([ServerCall(insert, [.int8(1)])]).map(\.kind) == ["rows"])
    try await server.psql("DROP TABLE public.\(table)")
  }

  @Test("A statement is prepared although another one of the exchange that first used it could not be")
  func sharedPreparation() async throws {
    let other = try await connect(to: server)
    let number = Int64.random(in: 0 ... .max)
    _ = try await other.rows("SELECT pg_advisory_lock($1)", [.int8], [.int8(number)])
    let new = ServerCall(ServerStatement("SELECT 'new'"))
    // What is sent while the first exchange waits is under way at once.
    let exchanges = [
      [ServerCall(ServerStatement("SELECT pg_advisory_lock($1)", [.int8]), [.int8(number)])],
      [ServerCall(ServerStatement("SELECT FROM public.missing")), new], [new],
    ]
    var tasks: [Task<[String], any Error>] = []
    for exchange in exchanges {
      tasks.append(Task { [connection] in try await connection.outcomes(exchange).map(\.kind) })
      try await eventually("the exchange is under way") { connection.pending == tasks.count }
    }
    await other.close()
    #expect(try await tasks[0].value == ["rows"])
    #expect(try await tasks[1].value == ["42P01", "skipped"])
    #expect(try await tasks[2].value == ["rows"])
  }

  @Test("A failure at the end of an exchange is that of its last call")
  func deferredFailure() async throws {
    let table = "d" + UUID().uuidString.replacing("-", with: "").lowercased()
    try await server.psql(
      """
      CREATE TABLE public.\(table) (
        a bigint PRIMARY KEY, b bigint REFERENCES public.\(table) DEFERRABLE INITIALLY DEFERRED)
      """
    )
    let insert = ServerStatement("INSERT INTO public.\(table) VALUES ($1, $2)", [.int8, .int8])
    let outcomes = try await connection.outcomes([
      ServerCall(insert, [.int8(1), .int8(1)]), ServerCall(insert, [.int8(2), .int8(3)]),
    ])
    #expect(outcomes.map(\.kind) == ["rows", "23503"])
    #expect(try await connection.rows("SELECT count(*) FROM public.\(table)").int8(0, 0) == 0)
    try await server.psql("DROP TABLE public.\(table)")
  }

  @Test("Warnings are noted beside the exchange that they came with; notices are not")
  func warnings() async throws {
    func raise(_ level: String) -> ServerCall {
      ServerCall(ServerStatement("DO $$ BEGIN RAISE \(level) 'x' USING ERRCODE = '01P99'; END $$", isPrepared: false))
    }
    async let first = connection.run([raise("NOTICE")], within: .seconds(30))
    async let second = connection.run([raise("WARNING"), raise("WARNING")], within: .seconds(30))
    async let third = connection.run([raise("INFO")], within: .seconds(30))
    #expect(try await first.warnings == [])
    #expect(try await second.warnings == ["01P99", "01P99"])
    #expect(try await third.warnings == [])
  }

  @Test("A call with another number of values is refused, and the connection is not affected")
  func invalidCall() async throws {
    let call = ServerCall(ServerStatement("SELECT $1", [.int8]), [])
    let loss = await #expect(throws: ConnectionLoss.self) { _ = try await connection.run([call], within: .seconds(30)) }
    #expect(loss?.cause == .invalidCall && loss?.mayHaveRun == false)
    #expect(try await connection.rows("SELECT 1::bigint").int8(0, 0) == 1)
  }

  @Test("Notifications arrive without a question")
  func notifications() async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: String.self)
    connection.onNotification { continuation.yield("\($0) \($1)") }
    _ = try await connection.rows("LISTEN coffer_test")
    try await server.psql("NOTIFY coffer_test, 'hello'")
    var iterator = stream.makeAsyncIterator()
    #expect(await iterator.next() == "coffer_test hello")
  }

  @Test("The session has the settings that commits rely on")
  func session() async throws {
    let rows = try await connection.rows(
      """
      SELECT current_setting('search_path'), current_setting('synchronous_commit'), current_setting('row_security'),
        current_setting('client_encoding'), current_setting('lock_timeout'), pg_backend_pid()::bigint
      """)
    #expect((0..<5).map { rows.text(0, $0) } == ["pg_catalog", "on", "on", "UTF8", "54s"])
    #expect(rows.int8(0, 5) == Int64(connection.processID))
    #expect(connection.serverVersion >= 150_000)
  }
}
