import CofferCore
import CofferEncryption
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@testable import CofferPostgreSQL

@Suite("PostgreSQL: passwords", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct PasswordTests {
  private static let password = "hunter2 é'\\"

  private func withServer(
    _ settings: [String] = ["fsync = off"], _ body: (PostgreSQLServer, TemporaryDirectory) async throws -> Void
  ) async throws {
    let server = try await PostgreSQLServer(
      settings: settings + ["log_statement = all"],
      rules: ["local all all trust", "host all all 127.0.0.1/32 scram-sha-256"])
    try await server.psql("CREATE ROLE ann LOGIN PASSWORD 'hunter2 é''\\'")
    try await body(server, try TemporaryDirectory())
  }

  private func open(
    _ server: PostgreSQLServer, _ source: PassphraseSource? = nil, more: String = "", services: String? = nil
  ) async throws -> ServerConnection {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.password = source
    let text = server.location("postgres", user: "ann") + more
    let file = ServiceFile { $0 == "PGSERVICEFILE" ? services : nil }
    return try await ServerConnection.open(try ConnectionTarget(text, configuration, services: file))
  }

  @Test("From a source, a password file and a service file, and nowhere else")
  func sources() async throws {
    try await withServer { server, directory in
      _ = try await open(server, .provided { Data(Self.password.utf8) })
      let none = await expectStorageError(.permissionDenied, contains: "demands a password") {
        _ = try await open(server)
      }
      let wrong = await expectStorageError(.permissionDenied, contains: "refuses the password") {
        _ = try await open(server, .provided { Data("hunter3".utf8) })
      }
      let file = directory.path("pass word")
      try "127.0.0.1:*:*:ann:hunter2 é'\\\\\n".write(toFile: file, atomically: false, encoding: .utf8)
      chmod(file, 0o644)
      let path = file.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
      let exposed = await expectStorageError(.permissionDenied, contains: "chmod 600") {
        _ = try await open(server, more: "&passfile=\(path)")
      }
      chmod(file, 0o600)
      _ = try await open(server, more: "&passfile=\(path)")
      let services = directory.path("services")
      try "[shop]\npassword=\(Self.password)\n".write(toFile: services, atomically: false, encoding: .utf8)
      _ = try await open(server, more: "&service=shop", services: services)
      for error in [none, wrong, exposed] {
        #expect(error?.description.contains("hunter") == false, "\(String(describing: error))")
      }
      try expectNoPassword(in: server.log.replacing("CREATE ROLE ann LOGIN PASSWORD 'hunter2", with: ""))
    }
  }

  /// Checks a text, and the command lines of all processes.
  private func expectNoPassword(in text: String) throws {
    #expect(!text.contains("hunter"))
    for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int(name) != nil {
      let line = (try? Data(contentsOf: URL(fileURLWithPath: "/proc/\(name)/cmdline"))) ?? Data()
      #expect(line.range(of: Data("hunter2 ".utf8)) == nil)
    }
  }

  @Test("A password that was changed is read again, once", arguments: [false, true])
  func changed(encrypts: Bool) async throws {
    let authority = try await TestAuthority()
    try await withServer(encrypts ? try await authority.settings(for: "db.test") : ["fsync = off"]) {
      server, directory in
      let file = directory.url.appendingPathComponent("password")
      try Data("\(Self.password)\n".utf8).write(to: file)
      var configuration = PostgreSQLEngine.Configuration.patient
      let reads = Locked(0)
      configuration.password = .provided {
        reads.withLock { $0 += 1 }
        return try Data(contentsOf: file)
      }
      let target = try ConnectionTarget(server.location("postgres", user: "ann"), configuration)
      _ = try await ServerConnection.open(target)
      _ = try await ServerConnection.open(target)
      #expect(reads.withLock { $0 } == 1)
      try await server.psql("ALTER ROLE ann PASSWORD 'new'")
      // libpq tries a wrong password once more without TLS.
      await expectStorageError(.permissionDenied, contains: "refuses the password") {
        _ = try await ServerConnection.open(target)
      }
      try Data("new".utf8).write(to: file)
      _ = try await ServerConnection.open(target)
      _ = try await ServerConnection.open(target)
      #expect(reads.withLock { $0 } == 3)
    }
  }

  @Test("A password is sent in no other way than SCRAM over TCP, unless the location allows it")
  func methods() async throws {
    let authority = try await TestAuthority()
    for settings in [["fsync = off"], try await authority.settings(for: "db.test")] {
      let server = try await PostgreSQLServer(
        settings: settings,
        rules: [
          "local all postgres trust", "local all all password", "host all sum 127.0.0.1/32 md5",
          "host all plain 127.0.0.1/32 password", "host all open 127.0.0.1/32 trust",
          "host all all 127.0.0.1/32 scram-sha-256",
        ])
      try await server.psql(
        "SET password_encryption = md5; CREATE ROLE sum LOGIN PASSWORD 'hunter2'; CREATE ROLE plain LOGIN "
          + "PASSWORD 'hunter2'; SET password_encryption = 'scram-sha-256'; CREATE ROLE proven LOGIN PASSWORD "
          + "'hunter2'; CREATE ROLE open LOGIN")
      func open(_ user: String, _ more: String = "", host: String = "127.0.0.1") async throws -> ServerConnection {
        var configuration = PostgreSQLEngine.Configuration.patient
        configuration.password = .provided { Data("hunter2".utf8) }
        return try await ServerConnection.open(
          try ConnectionTarget("postgresql://\(user)@\(host):\(server.port)/postgres?store=s\(more)", configuration))
      }
      for (user, method) in [("sum", "md5"), ("plain", "password"), ("open", "none")] {
        await expectStorageError(.permissionDenied, contains: "SCRAM-SHA-256") { _ = try await open(user) }
        #expect(try await open(user, "&require_auth=scram-sha-256,\(method)").isUsable)
      }
      #expect(try await open("proven").isUsable)
      await expectStorageError(.permissionDenied, contains: "SCRAM-SHA-256") {
        _ = try await open("proven", "&require_auth=none")
      }
      // The directory of a socket belongs to the server.
      #expect(try await open("plain", host: server.folder.path.replacing("/", with: "%2F")).isUsable)
    }
  }

  @Test("Requests for a password that follow the beginning of SCRAM are refused")
  func trailingRequests() {
    func request(_ number: UInt8) -> [UInt8] { [UInt8(ascii: "R"), 0, 0, 0, 8, 0, 0, 0, number] }
    func judge(_ messages: [UInt8]...) -> [AuthenticationGate.Verdict] {
      var gate = AuthenticationGate(allowing: [.scram])
      return messages.map { gate.judge($0[...]) }
    }
    #expect(judge(request(10), request(11), request(12) + request(0)) == [.allowed, .allowed, .allowed])
    #expect(judge(request(10) + request(3)) == [.refused])
    #expect(judge(request(10), request(5)) == [.allowed, .refused])
    #expect(judge(request(10), request(0)) == [.allowed, .refused])
    #expect(judge(request(12)) == [.refused])
    #expect(judge(request(0)) == [.refused])
    #expect(judge([UInt8(ascii: "R"), 0, 0, 0]) == [.refused])
    #expect(judge([UInt8(ascii: "N"), 0, 0, 0, 5, 0]) == [.refused])
    // A request that arrives in two parts.
    let begin = [UInt8(ascii: "R"), 0, 0, 0, 11, 0, 0, 0, 10, 65]
    #expect(judge(begin, [0], [0] + request(11), request(12)) == [.allowed, .allowed, .allowed, .allowed])
    #expect(judge(begin, [0, 0] + request(3)) == [.allowed, .refused])
    #expect(judge([UInt8(ascii: "R"), 0, 0, 0, 0, 0, 0, 0, 10]) == [.refused])
    #expect(judge([UInt8(ascii: "E")]) == [.allowed])
  }

  @Test("No request hides in the rest of another one, or behind the answer about TLS", arguments: [false, true])
  func hiddenRequests(encrypts: Bool) async throws {
    let plain: [UInt8] = [UInt8(ascii: "R"), 0, 0, 0, 8, 0, 0, 0, 3]
    let (start, rest) = ([UInt8(ascii: "R"), 0, 0, 0, 23, 0, 0, 0, 10] + "SCRAM".utf8, "-SHA-256\0\0".utf8)
    let server = try ScriptedServer()
    async let received = server.serve(
      encrypts ? [[[UInt8(ascii: "N")] + plain], [start + rest]] : [[start, rest + plain]])
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.password = .provided { Data("hunter2".utf8) }
    configuration.tls = encrypts ? .prefer : .disable
    let target = try ConnectionTarget("postgresql://ann@127.0.0.1:\(server.port)/d?store=s", configuration)
    await expectStorageError(.permissionDenied, contains: "SCRAM-SHA-256") {
      _ = try await ServerConnection.open(target)
    }
    #expect(await received.range(of: Data("hunter2".utf8)) == nil)
  }

  @Test("A failing source is reported as such")
  func failingSource() async throws {
    let server = try await SharedServer.running()
    await expectStorageError(.unavailable, contains: "does not exist") {
      _ = try await open(server, .file(URL(fileURLWithPath: "/nonexistent/password")))
    }
    await expectStorageError(.permissionDenied, contains: "NUL") {
      _ = try await open(server, .provided { Data([1, 0, 2]) })
    }
  }
}
