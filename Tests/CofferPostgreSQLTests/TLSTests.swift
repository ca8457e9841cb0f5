import CofferCore
import CofferTestSupport
import CofferTestTraits
import CofferTesting
import Foundation
import Testing

@testable import CofferPostgreSQL

/// Certificates that `openssl` makes, in a folder that the server can read.
final class TestAuthority: Sendable {
  let folder = URL(fileURLWithPath: "/tmp/coffer-tls-\(UUID().uuidString.prefix(8))")

  var certificate: String { path("authority.pem") }

  init() async throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try await openssl([
      "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
      path("authority.key"), "-out", certificate, "-subj", "/CN=test authority", "-days", "30",
    ])
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

  /// Issues a certificate for a host, and returns the settings of a server that uses it.
  func settings(for host: String, days: Int = 30) async throws -> [String] {
    let name = UUID().uuidString
    let (key, request, certificate) = (path(name + ".key"), path(name + ".csr"), path(name + ".pem"))
    try await openssl([
      "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", request,
      "-subj", "/CN=\(host)", "-addext",
      "subjectAltName=" + (host.first?.isNumber == true ? "IP:" : "DNS:") + host,
    ])
    try await openssl([
      "x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", path("authority.key"), "-CAcreateserial",
      "-days", "\(days)", "-copy_extensions", "copy", "-out", certificate,
    ])
    chmod(key, 0o600)
    if getuid() == 0, let user = getpwnam("postgres") { chown(key, user.pointee.pw_uid, user.pointee.pw_gid) }
    return ["fsync = off", "ssl = on", "ssl_cert_file = '\(certificate)'", "ssl_key_file = '\(key)'"]
  }

  private func openssl(_ arguments: [String]) async throws {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
    process.arguments = arguments
    let ended = try await RunningProgram(process, in: folder).ended()
    guard ended.status == 0 else { throw TestFailure("openssl \(ended.status): \(ended.errors)") }
  }
}

@Suite("PostgreSQL: TLS", .serialized, .enabled(if: PostgreSQLServer.obstacle == nil, obstacle))
struct TLSTests {
  private func open(
    _ server: PostgreSQLServer, trusting certificates: String?, tls: PostgreSQLEngine.Configuration.TLS? = .verifyFull,
    host: String = "db.test", port: Int? = nil
  ) async throws -> ServerConnection {
    var configuration = PostgreSQLEngine.Configuration.patient
    configuration.tls = tls
    configuration.rootCertificates = certificates
    let target = try ConnectionTarget(
      "postgresql://postgres@\(host):\(port ?? server.port)/postgres?store=s", configuration)
    return try await ServerConnection.open(target, lookup: HostLookup { _ in ["127.0.0.1"] })
  }

  private func isEncrypted(_ connection: ServerConnection) async throws -> Bool {
    try await connection.rows("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").bool(0, 0)
  }

  @Test("A good certificate, a foreign one and one for another name")
  func certificates() async throws {
    let (authority, other) = (try await TestAuthority(), try await TestAuthority())
    let server = try await PostgreSQLServer(settings: try await authority.settings(for: "db.test"))
    let good = try await open(server, trusting: authority.certificate)
    #expect(try await isEncrypted(good))
    // Large values over TLS in both directions.
    let value = Data((0..<(8 << 20)).map { UInt8(truncatingIfNeeded: $0 >> 4) })
    async let first = good.rows("SELECT $1", [.bytes], [.bytes(value)])
    async let second = good.rows("SELECT $1", [.bytes], [.bytes(value)])
    #expect(try await first.data(0, 0) == value)
    #expect(try await second.data(0, 0) == value)
    let foreign = await expectStorageError(.permissionDenied, contains: "not from an authority that is trusted") {
      _ = try await open(server, trusting: other.certificate)
    }
    #expect(foreign?.advice.contains("rootCertificates") == true)
    await expectStorageError(.permissionDenied, contains: "not from an authority") {
      _ = try await open(server, trusting: nil)
    }
    await expectStorageError(.permissionDenied, contains: "is for another name") {
      _ = try await open(server, trusting: authority.certificate, host: "other.test")
    }
    // What the configuration allows.
    let any = try await open(server, trusting: authority.certificate, tls: .verifyAuthority, host: "other.test")
    #expect(try await isEncrypted(any))
    #expect(try await isEncrypted(try await open(server, trusting: other.certificate, tls: .require)))
    #expect(try await isEncrypted(try await open(server, trusting: nil, tls: nil)))
    #expect(try await !isEncrypted(try await open(server, trusting: nil, tls: .disable)))
    for file in ["/nonexistent/ca.pem", "/etc/hostname"] {
      await expectStorageError(.unsupported, contains: "cannot be read") {
        _ = try await open(server, trusting: file)
      }
    }
  }

  @Test("An expired certificate is named as such")
  func expired() async throws {
    let authority = try await TestAuthority()
    let server = try await PostgreSQLServer(settings: try await authority.settings(for: "db.test", days: -1))
    await expectStorageError(.permissionDenied, contains: "has expired") {
      _ = try await open(server, trusting: authority.certificate)
    }
  }

  @Test("A connection that should be encrypted is refused where the server offers no TLS, and where it was removed")
  func stripped() async throws {
    let server = try await SharedServer.running()
    for tls in [PostgreSQLEngine.Configuration.TLS.require, .verifyAuthority, .verifyFull] {
      await expectStorageError(.permissionDenied, contains: "offers no encrypted connection") {
        _ = try await open(server, trusting: ConnectionTarget.systemCertificates, tls: tls)
      }
    }
    #expect(try await !isEncrypted(try await open(server, trusting: nil, tls: .prefer)))
    // A link that resets connections is no server without TLS.
    let link = try LinkProxy(to: server.port)
    link.mode = .cut
    await expectStorageError(.unavailable) {
      _ = try await open(server, trusting: ConnectionTarget.systemCertificates, port: link.port)
    }
  }
}
