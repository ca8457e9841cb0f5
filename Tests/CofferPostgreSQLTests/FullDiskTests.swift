import CofferCore
import CofferPostgreSQL
import CofferTestSupport
import Foundation
import Testing

/// Servers whose disk is full.
@Suite(
  "PostgreSQL: full disks", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle),
  .enabled(if: getuid() == 0, "mounting a small file system needs root"))
struct FullDiskTests {
  private let directory: TemporaryDirectory
  private let disk: SmallDisk

  init() throws {
    directory = try TemporaryDirectory()
    guard let disk = try SmallDisk(at: directory.path("disk"), size: "40m") else {
      try Test.cancel("this machine does not let root mount a tmpfs: \(String(cString: strerror(errno)))")
    }
    self.disk = disk
    // The server runs as another user.
    let user = try #require(getpwnam("postgres")).pointee
    try #require(chmod(directory.url.path, 0o755) == 0 && chown(disk.path, user.pw_uid, user.pw_gid) == 0)
  }

  private func open(_ server: PostgreSQLServer, _ database: String) async throws -> PostgreSQLEngine {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.instance = Instances().next()
    configuration.connectTimeout = .seconds(2)
    configuration.answerTimeout = .seconds(5)
    configuration.outcomeTimeout = .seconds(2)
    return try await PostgreSQLEngine.open(server.location(database), configuration: configuration)
  }

  /// Writes values until an error, and returns those that were acknowledged, and the error.
  private func fill(_ engine: PostgreSQLEngine) async throws -> ([KeyName: Data], StorageError) {
    var values: [KeyName: Data] = [:]
    for number in 0..<2_000 {
      let key = try KeyName("k/\(number)")
      let value = Data((0..<(200 << 10)).map { UInt8(truncatingIfNeeded: $0 &* number) })
      do {
        try await engine.commit(WriteBatch([.put(key, value)]), from: StoreOrigin())
        values[key] = value
      } catch let error as StorageError {
        return (values, error)
      }
    }
    throw TestFailure("the disk did not fill up")
  }

  private func check(_ engine: PostgreSQLEngine, _ values: [KeyName: Data]) async throws {
    for (key, value) in values {
      let found = try await engine.entry(key)?.value
      #expect(found == value, "\(key)")
    }
  }

  @Test("A commit for which the server's disk has no room throws diskFull, and nothing is lost")
  func data() async throws {
    let server = try await PostgreSQLServer()
    try await server.psql("CREATE TABLESPACE small LOCATION '\(disk.path)'")
    let database = try await server.newDatabase()
    try await server.psql("ALTER DATABASE \(database) SET TABLESPACE small")
    let engine = try await open(server, database)
    let (values, error) = try await fill(engine)
    #expect(error.code == .diskFull, "\(error)")
    #expect(values.count > 20)
    try await check(engine, values)
    let again = await #expect(throws: StorageError.self) {
      try await engine.commit(WriteBatch([.put("more", Data(repeating: 1, count: 4 << 20))]), from: StoreOrigin())
    }
    #expect(again?.code == .diskFull, "\(String(describing: again))")
    try disk.resize(to: "200m")
    let commit = try await engine.commit(
      WriteBatch([.put("more", Data(repeating: 1, count: 4 << 20))]), from: StoreOrigin())
    #expect(try await engine.entry("more")?.revision == commit.revision)
    try await check(engine, values)
    try await engine.close()
  }

  @Test("A server that ends because its log has no room is unavailable; started again, it has every acknowledged value")
  func log() async throws {
    let server = try await PostgreSQLServer(settings: ["max_wal_size = 4GB"], logIn: disk.path + "/wal")
    let database = try await server.newDatabase()
    let engine = try await open(server, database)
    let (values, error) = try await fill(engine)
    #expect([.unavailable, .outcomeUnknown, .diskFull].contains(error.code), "\(error)")
    #expect(values.count > 20)
    try disk.resize(to: "1g")
    server.stop()
    try await server.start()
    try await eventually("the server takes a commit") {
      do {
        try await engine.commit(WriteBatch([.put("more", Data("v".utf8))]), from: StoreOrigin())
        return true
      } catch let error as StorageError where [.unavailable, .outcomeUnknown].contains(error.code) {
        return false
      }
    }
    try await check(engine, values)
    try await engine.close()
    server.stop()
  }
}
