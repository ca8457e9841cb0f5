import CofferCPostgreSQL
import CofferTestSupport
import Foundation

/// A server for measurements, with its default durability.
public final class BenchServer {
  private let server: PostgreSQLServer
  private let database: String

  /// Why no server can be started here.
  public static var obstacle: String? { PostgreSQLServer.obstacle }

  public init() async throws {
    server = try await PostgreSQLServer(settings: [])
    database = try await server.newDatabase()
  }

  /// The location of a store.
  public func location(_ store: String) -> String { server.location(database, store: store) }

  /// Opens a connection by hand, with tables of its own.
  public func byHand() throws -> PostgreSQLByHand { try PostgreSQLByHand(port: server.port, database: database) }

  /// Copies lines into a table by psql, and returns the seconds that it took.
  public func copy(_ lines: Int, of size: Int) async throws -> Double {
    let path = "/tmp/coffer-copy-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    let value = String(repeating: "ab", count: size)
    let text = (0..<lines).map {
      "\\\\x\(String($0, radix: 16).count % 2 == 0 ? "" : "0")\(String($0, radix: 16))\t\\\\x\(value)"
    }
    try (text.joined(separator: "\n") + "\n").write(toFile: path, atomically: false, encoding: .utf8)
    try await server.psql("CREATE TABLE IF NOT EXISTS copied (key bytea PRIMARY KEY, value bytea)", database: database)
    try await server.psql("TRUNCATE copied", database: database)
    let start = ContinuousClock.now
    try await server.psql("\\copy copied FROM '\(path)'", database: database)
    return (ContinuousClock.now - start) / .seconds(1)
  }
}

/// A primary and two standbys, of which one must confirm each commit.
public final class BenchQuorum {
  private let cluster: PostgreSQLCluster
  /// The location of a store.
  public let location: String

  public init() async throws {
    cluster = try await PostgreSQLCluster(isDurable: true)
    let leader = await cluster.leader
    location = leader.location(try await leader.newDatabase())
  }
}

/// The statements of a store written by hand over libpq, on tables of the same columns and indexes: prepared, binary,
/// in pipeline mode, on one blocking connection.
public final class PostgreSQLByHand {
  /// A failure of the measurement.
  public struct Failure: Error { let text: String }

  private let connection: OpaquePointer
  private let writer = UUID()
  private var attempt: Int64 = 0

  fileprivate init(port: Int, database: String) throws {
    guard let connection = PQconnectdb("host=127.0.0.1 port=\(port) user=postgres dbname=\(database)") else {
      throw Failure(text: "no connection")
    }
    self.connection = connection
    try run(Self.tables)
    try run("INSERT INTO writers VALUES ('\(writer.uuidString)', 0, 0, false)")
    try prepare("begin", "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
    try prepare("commit", "COMMIT")
    try prepare("advance", Self.advance)
    try prepare("put", Self.put)
    try prepare("journal", Self.journal)
    try prepare("get", "SELECT revision, checksum, value FROM rows WHERE store = 1 AND NOT record AND key = $1")
  }

  deinit { PQfinish(connection) }

  private func run(_ sql: String) throws { try check(PQexec(connection, sql)) }

  private func prepare(_ name: String, _ sql: String) throws { try check(PQprepare(connection, name, sql, 0, nil)) }

  private func check(_ result: OpaquePointer?) throws {
    defer { PQclear(result) }
    guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) else {
      throw Failure(text: PQerrorMessage(connection).map { String(cString: $0) } ?? "")
    }
  }

  /// Writes rows in one transaction and one round trip.
  /// - Parameter journal: the number of rows in the journal: 1, or as many as there are rows.
  public func put(_ rows: [(key: [UInt8], value: [UInt8])], journal: Int) throws {
    guard PQenterPipelineMode(connection) == 1 else { throw Failure(text: "no pipeline") }
    attempt += 1
    let backs = (0..<rows.count).map { journal == 1 ? 0 : Int64(rows.count - 1 - $0) }
    let numbers = rows.map { _ in bigEndian(Int64(7)) }
    let none = rows.map { _ in [UInt8]?.none }
    try send("begin", [])
    try send("advance", [bigEndian(Int64(journal)), uuid(writer), bigEndian(attempt)])
    try send(
      "put",
      [
        array(rows.map(\.key)), array(backs.map { bigEndian($0) }, of: 20), array(numbers, of: 20), array(none, of: 20),
        array(none), array(rows.map(\.value)),
      ])
    let changed = journal == 1 ? [Array(rows.map(\.key).joined())] : rows.map(\.key)
    let identifiers = changed.map { _ in uuid(UUID()) }
    let counted = changed.indices.map { bigEndian(Int64(journal - 1 - $0)) }
    let ones = changed.map { _ in bigEndian(Int64(7)) }
    try send(
      "journal",
      [
        array(counted, of: 20), array(identifiers), array(identifiers), array(ones, of: 20), array(changed),
        array(ones, of: 20),
      ])
    try send("commit", [])
    guard PQpipelineSync(connection) == 1 else { throw Failure(text: "no sync") }
    while true {
      guard let result = PQgetResult(connection) else { continue }
      let status = PQresultStatus(result)
      PQclear(result)
      if status == PGRES_PIPELINE_SYNC { break }
      guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(status) else {
        throw Failure(text: String(cString: PQerrorMessage(connection)))
      }
    }
    PQexitPipelineMode(connection)
  }

  /// Reads one value by `PQexecPrepared`; returns its size.
  public func get(_ key: [UInt8]) throws -> Int {
    let result = withParameters([key]) { values, sizes, formats in
      PQexecPrepared(connection, "get", 1, values, sizes, formats, 1)
    }
    defer { PQclear(result) }
    guard PQntuples(result) == 1 else { throw Failure(text: "no row") }
    return Int(PQgetlength(result, 0, 2))
  }

  private func send(_ name: String, _ parameters: [[UInt8]]) throws {
    let isSent = withParameters(parameters) { values, sizes, formats in
      PQsendQueryPrepared(connection, name, Int32(parameters.count), values, sizes, formats, 1) == 1
    }
    guard isSent else { throw Failure(text: "not sent") }
  }

  private func withParameters<R>(
    _ parameters: [[UInt8]], _ body: ([UnsafePointer<CChar>?], [Int32], [Int32]) -> R
  ) -> R {
    let copies = parameters.map { bytes in
      let copy = UnsafeMutablePointer<CChar>.allocate(capacity: max(1, bytes.count))
      bytes.withUnsafeBytes { if let start = $0.baseAddress { memcpy(copy, start, bytes.count) } }
      return copy
    }
    defer { for copy in copies { copy.deallocate() } }
    return body(
      copies.map { UnsafePointer($0) }, parameters.map { Int32($0.count) }, parameters.map { _ in 1 })
  }

  /// Returns an array in binary form.
  private func array(_ items: [[UInt8]?], of type: Int32 = 17) -> [UInt8] {
    var bytes = bigEndian(Int32(1)) + bigEndian(Int32(1)) + bigEndian(type) + bigEndian(Int32(items.count))
    bytes += bigEndian(Int32(1))
    bytes.reserveCapacity(bytes.count + items.reduce(0) { $0 + ($1?.count ?? 0) + 4 })
    for item in items { bytes += item.map { bigEndian(Int32($0.count)) + $0 } ?? bigEndian(Int32(-1)) }
    return bytes
  }

  private func uuid(_ identifier: UUID) -> [UInt8] { withUnsafeBytes(of: identifier.uuid) { Array($0) } }

  private func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}

extension PostgreSQLByHand {
  private static let tables = """
    CREATE TABLE IF NOT EXISTS head (store bigint PRIMARY KEY, head bigint, epoch bigint) WITH (fillfactor = 10);
    INSERT INTO head VALUES (1, 0, 1) ON CONFLICT DO NOTHING;
    CREATE TABLE IF NOT EXISTS writers (writer uuid PRIMARY KEY, attempt bigint, revision bigint, is_fenced boolean,
      seen_at timestamptz NOT NULL DEFAULT now()) WITH (fillfactor = 10);
    CREATE TABLE IF NOT EXISTS rows (store bigint, record boolean, key bytea, revision bigint, checksum bigint,
      expires bigint, attributes bytea, value bytea, PRIMARY KEY (store, record, key)) WITH (fillfactor = 85);
    ALTER TABLE rows ALTER COLUMN value SET STORAGE EXTERNAL;
    CREATE INDEX IF NOT EXISTS rows_expires ON rows (store, expires) WHERE expires IS NOT NULL;
    CREATE TABLE IF NOT EXISTS journal (store bigint, revision bigint, epoch bigint, transaction bytea, origin bytea,
      committed_at bigint, changed bytea, checksum bigint, PRIMARY KEY (store, revision));
    """

  private static let advance = """
    WITH h AS (UPDATE head SET head = head + $1::bigint WHERE store = 1 RETURNING head, epoch),
    a AS (
      UPDATE writers w SET attempt = $3::bigint, revision = h.head, seen_at = now() FROM h
      WHERE w.writer = $2::uuid AND w.attempt = $3::bigint - 1 AND NOT w.is_fenced RETURNING 1)
    SELECT h.head, h.epoch, 1 / (SELECT count(*) FROM a) FROM h
    """

  private static let put = """
    INSERT INTO rows (store, record, key, revision, checksum, expires, attributes, value)
    SELECT 1, false, u.key, h.head - u.back, u.checksum # (h.head - u.back), u.expires, u.attributes, u.value
    FROM head h, unnest($1::bytea[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[], $6::bytea[])
      AS u (key, back, checksum, expires, attributes, value) WHERE h.store = 1
    ON CONFLICT (store, record, key) DO UPDATE SET revision = excluded.revision, checksum = excluded.checksum,
      expires = excluded.expires, attributes = excluded.attributes, value = excluded.value
    """

  private static let journal = """
    INSERT INTO journal (store, revision, epoch, transaction, origin, committed_at, changed, checksum)
    SELECT 1, h.head - u.back, h.epoch, u.transaction, u.origin, u.committed_at, u.changed, u.checksum
    FROM head h, unnest($1::bigint[], $2::bytea[], $3::bytea[], $4::bigint[], $5::bytea[], $6::bigint[])
      AS u (back, transaction, origin, committed_at, changed, checksum) WHERE h.store = 1
    """
}
