import CofferCore
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@testable import CofferPostgreSQL

@Suite("PostgreSQL: opening", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct OpeningTests {
  private func configuration(_ change: (inout PostgreSQLEngine.Configuration) -> Void = { _ in })
    -> PostgreSQLEngine.Configuration
  {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.connectTimeout = .seconds(10)
    change(&configuration)
    return configuration
  }

  private func open(
    _ text: String, _ configuration: PostgreSQLEngine.Configuration? = nil,
    services: ServiceFile = ServiceFile { _ in nil },
    lookup: HostLookup = .shared
  ) async throws -> ServerConnection {
    let target = try ConnectionTarget(text, configuration ?? self.configuration(), services: services)
    return try await ServerConnection.open(target, lookup: lookup)
  }

  @Test("The primary is found behind a dead host and a standby, and is tried first afterwards")
  func hosts() async throws {
    let primary = try await PostgreSQLServer()
    let standby = try await PostgreSQLServer(standbyOf: primary, named: "s1", through: primary.port)
    let text =
      "postgresql://postgres@127.0.0.1:1,127.0.0.1:\(standby.port),127.0.0.1:\(primary.port)/postgres?store=s"
    let target = try ConnectionTarget(text, configuration())
    let connection = try await ServerConnection.open(target)
    #expect(connection.instance.port == primary.port)
    #expect(target.order == [2, 0, 1])
    let second = try await ServerConnection.open(target)
    #expect(second.instance == connection.instance)
    primary.stop()
    await expectStorageError(.unavailable, contains: "None of the 3 hosts") {
      _ = try await ServerConnection.open(target)
    }
    await expectStorageError(.unavailable, contains: "is a standby") { _ = try await ServerConnection.open(target) }
    await expectStorageError(.unavailable, contains: "No server listens at 127.0.0.1:\(primary.port).") {
      _ = try await ServerConnection.open(target)
    }
  }

  @Test("A Unix socket, and IPv6")
  func addresses() async throws {
    let server = try await PostgreSQLServer(
      settings: ["fsync = off", "listen_addresses = '127.0.0.1,::1'"],
      rules: ["local all all trust", "host all all 127.0.0.1/32 trust", "host all all ::1/128 trust"])
    let folder = server.folder.path.replacing("/", with: "%2F")
    let local = try await open("postgresql://postgres@\(folder):\(server.port)/postgres?store=s")
    #expect(local.instance.host == server.folder.path)
    #expect(try await local.rows("SELECT inet_client_addr() IS NULL").bool(0, 0))
    guard FileManager.default.fileExists(atPath: "/proc/net/if_inet6") else { return }
    let six = try await open("postgresql://postgres@[::1]:\(server.port)/postgres?store=s")
    #expect(try await six.rows("SELECT host(inet_client_addr())").text(0, 0) == "::1")
    // The first address of a name does not answer; the second does.
    let lookup = HostLookup { _ in ["127.0.0.9", "::1"] }
    _ = try await open("postgresql://postgres@db.test:\(server.port)/postgres?store=s", lookup: lookup)
  }

  @Test("A lookup that hangs ends at the deadline, and occupies one thread per name")
  func slowName() async throws {
    let calls = Locked(0)
    let gate = DispatchSemaphore(value: 0)
    let lookup = HostLookup { _ in
      calls.withLock { $0 += 1 }
      gate.wait()
      return nil
    }
    let fast = configuration { $0.connectTimeout = .milliseconds(50) }
    await withTaskGroup { group in
      for _ in 0..<8 {
        group.addTask {
          await expectStorageError(.unavailable, contains: "could not be looked up in time") {
            _ = try await self.open("postgresql://u@db.test/d?store=s", fast, lookup: lookup)
          }
        }
      }
    }
    #expect(calls.withLock { $0 } == 1)
    gate.signal()
    await expectStorageError(.unavailable, contains: "has no address") {
      _ = try await open("postgresql://u@db.test/d?store=s", lookup: HostLookup { _ in nil })
    }
  }

  @Test("What servers refuse is said with its fix, and without their texts")
  func refusals() async throws {
    let server = try await SharedServer.running()
    await expectStorageError(.notFound, contains: "no such database") {
      _ = try await open(server.location("gone"))
    }
    await expectStorageError(.permissionDenied, contains: "does not accept this role") {
      _ = try await open(server.location("postgres", user: "nobody_here"))
    }
    try await server.psql("CREATE ROLE limited LOGIN CONNECTION LIMIT 1")
    let only = try await open(server.location("postgres", user: "limited"))
    let error = await expectStorageError(.unavailable, contains: "no free connection") {
      _ = try await open(server.location("postgres", user: "limited"))
    }
    #expect(error?.description.contains("53300") == true)
    #expect(error?.description.contains("too many") == false)
    // A role that may not read the control file can connect all the same.
    #expect(only.isUsable)
    await only.close()
    let database = try await server.newDatabase()
    try await server.psql("ALTER DATABASE \(database) SET default_transaction_read_only = on")
    #expect(try await open(server.location(database)).isReadOnly)
    #expect(!only.isReadOnly)
    try await server.psql("ALTER ROLE limited SET synchronous_commit = off")
    let weak = try await open(server.location("postgres", user: "limited"))
    #expect(try await weak.rows("SELECT current_setting('synchronous_commit')").text(0, 0) == "on")
    await weak.close()
    try await eventually("the role is free") { try await isFree(server) }
    try await server.psql("ALTER ROLE limited SET synchronous_commit = remote_apply")
    let strong = try await open(server.location("postgres", user: "limited"))
    #expect(try await strong.rows("SELECT current_setting('synchronous_commit')").text(0, 0) == "remote_apply")
    await strong.close()
    try await eventually("the role is free") { try await isFree(server) }
    try await server.psql("DROP ROLE limited")
  }

  private func isFree(_ server: PostgreSQLServer) async throws -> Bool {
    try await server.psql("SELECT count(*) FROM pg_stat_activity WHERE usename = 'limited'") == "0"
  }

  /// Opens a listening socket that this object's owner never accepts from.
  private func listen(at address: String, port: Int) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = UInt16(port).bigEndian
    inet_pton(AF_INET, address, &name.sin_addr)
    let isReady = withUnsafePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 && Glibc.listen(descriptor, 8) == 0
      }
    }
    guard isReady else { throw TestFailure("no socket at \(address)") }
    return descriptor
  }

  @Test("An address that never answers leaves time for the next one of the same name")
  func silentAddress() async throws {
    let server = try await SharedServer.running()
    let silent = try listen(at: "127.0.0.9", port: server.port)
    defer { close(silent) }
    let fast = configuration { $0.connectTimeout = .seconds(4) }
    let text = "postgresql://postgres@db.test:\(server.port)/postgres?store=s"
    let connection = try await open(text, fast, lookup: HostLookup { _ in ["127.0.0.9", "127.0.0.9", "127.0.0.1"] })
    #expect(try await connection.rows("SELECT host(inet_server_addr())").text(0, 0) == "127.0.0.1")
  }

  @Test("Hosts are tried side by side: one that never answers delays nothing")
  func silentHost() async throws {
    let server = try await SharedServer.running()
    let silent = try listen(at: "127.0.0.11", port: server.port)
    defer { close(silent) }
    let patient = configuration { $0.connectTimeout = .seconds(3_600) }
    let target = try ConnectionTarget(
      "postgresql://postgres@127.0.0.11:\(server.port),127.0.0.1:\(server.port)/postgres?store=s", patient)
    // Also if the host was the primary before.
    for round in 1...2 {
      let opening = Task { try await ServerConnection.open(target) }
      let isOpen = Locked(false)
      let noting = Task {
        _ = try await opening.value
        isOpen.withLock { $0 = true }
      }
      try await eventually("connection \(round) is open") { isOpen.withLock { $0 } }
      opening.cancel()
      try await noting.value
      target.prefer(0)
    }
  }

  @Test("Servers of another kind, and what they send, end an attempt and nothing else")
  func nonsense() async throws {
    var generator = SeededGenerator(seed: 20)
    let answers =
      [Data("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), Data(), Data("E".utf8), Data("N".utf8)]
      + (0..<16).map { number in
        let noise = (0..<200).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        // After the answer about TLS: noise, or a message with a true type and a false length.
        let start: [UInt8] =
          number.isMultiple(of: 2) ? [UInt8(ascii: "N")] : [UInt8(ascii: "N"), UInt8(ascii: "R"), 0, 0]
        return Data(start + noise)
      }
    let fast = configuration { $0.connectTimeout = .milliseconds(300) }
    for answer in answers {
      let listener = try listen(at: "127.0.0.10", port: 0)
      defer { close(listener) }
      var name = sockaddr_in()
      var size = socklen_t(MemoryLayout<sockaddr_in>.size)
      _ = withUnsafeMutablePointer(to: &name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &size) }
      }
      let port = Int(UInt16(bigEndian: name.sin_port))
      let serving = Thread {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        _ = answer.withUnsafeBytes { send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        // Closing it with unread bytes would take the answer back.
        shutdown(client, Int32(SHUT_WR))
        var byte: UInt8 = 0
        while recv(client, &byte, 1, 0) > 0 {}
        close(client)
      }
      serving.start()
      await #expect(throws: StorageError.self) {
        _ = try await open("postgresql://postgres@127.0.0.10:\(port)/postgres?store=s", fast)
      }
    }
    let server = try await SharedServer.running()
    #expect(try await connect(to: server).rows("SELECT 1::bigint").int8(0, 0) == 1)
  }

  @Test("A Unix socket without a server, and channel binding that is not offered, are named")
  func causes() async throws {
    let directory = try TemporaryDirectory()
    let folder = directory.url.path.replacing("/", with: "%2F")
    await expectStorageError(.unavailable, contains: "There is no server with a socket in") {
      _ = try await open("postgresql://postgres@\(folder)/postgres?store=s")
    }
    let server = try await SharedServer.running()
    let location = server.location("postgres")
    await expectStorageError(.permissionDenied, contains: "offers no channel binding") {
      _ = try await open(location + "&channel_binding=require")
    }
    await expectStorageError(StorageError.Code("invalidLocation"), contains: "channel_binding") {
      _ = try await open(location + "&channel_binding=always")
    }
  }

  @Test("Tables that are gone are named, and so are roles that do not exist and names that have no encoding")
  func tables() async throws {
    let server = try await SharedServer.running()
    let database = try await server.newDatabase()
    let administration = try PostgreSQLAdministration(server.location(database))
    #expect(try await administration.initialize())
    await expectStorageError(.notFound, contains: "no such role") {
      try await administration.grant("nobody_here", mayWrite: true)
    }
    try await server.psql("DROP TABLE coffer.values, coffer.journal CASCADE", database: database)
    await expectStorageError(.notAStore, contains: "coffer.journal, coffer.values") {
      _ = try await administration.initialize()
    }
    try await server.psql("DROP SCHEMA coffer CASCADE", database: database)
    #expect(try await administration.initialize())
    let latin = "l" + UUID().uuidString.replacing("-", with: "").lowercased()
    try await server.psql("CREATE DATABASE \(latin) ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    await expectStorageError(.unsupported, contains: "The encoding of the database") {
      _ = try await PostgreSQLEngine.open(server.location(latin, store: "%E6%97%A5"), configuration: .patient)
    }
  }

  @Test("A version that is too old is named")
  func version() throws {
    let target = try ConnectionTarget("postgresql://u@h/d?store=s", configuration())
    let error = target.error([(target.hosts[0], .oldVersion(140_011))])
    #expect(error.code == .unsupported && error.message.contains("version 14;"))
  }
}
