import CofferCPostgreSQL
import CofferCore
import CofferEncryption
import Foundation

/// The hosts of a database, how to connect to it, and the name of a store in it.
final class ConnectionTarget: Sendable {
  /// The text of the location, without any secret.
  let description: String
  /// The text without the store: databases with the same text share their connections.
  let database: String
  let store: String
  let hosts: [ServerHost]
  /// The time for one host, from the lookup of its name until the session is set up.
  let connectTimeout: Duration
  /// The time within which the server must answer.
  let answerTimeout: Duration
  /// The protection of connections; `nil` for the one that depends on the host.
  let tls: PostgreSQLEngine.Configuration.TLS?
  /// The file with the trusted authorities.
  let rootCertificates: String
  /// The ways to log in that the location allows; `nil` for those that depend on the host.
  private let authentication: Set<AuthenticationMethod>?
  private let options: ConnectionParameters
  private let password: PasswordCache?
  /// A file of passwords that is not used, since others may read it.
  let exposedPasswordFile: String?
  /// The host that was a primary last, which is tried first.
  private let preferred = Locked<Int?>(nil)

  /// Parses `postgresql://USER@HOST:PORT,HOST/DATABASE?store=NAME`, by libpq apart from the store.
  ///
  /// What the location does not say is taken from the service that it names, then from libpq's environment variables.
  /// - Parameter store: the name of the store; `nil` for the one in the text.
  /// - Throws: `StorageError` with code `invalidLocation`.
  convenience init(
    _ text: String, store: String? = nil, _ configuration: PostgreSQLEngine.Configuration,
    services: ServiceFile = ServiceFile()
  ) throws {
    var (options, named) = try LocationText.parse(text)
    for keyword in LocationText.secretKeywords where options[keyword.text] != nil {
      throw StorageError.invalidLocation(
        "The location contains a password, which others could read in logs and in the list of processes.",
        "Remove it; set the password of the configuration, or put it into ~/.pgpass or a service file. "
          + "Change the password if others may have seen it.")
    }
    try Self.check(options, configuration)
    guard let name = store ?? named, !name.isEmpty, name.utf8.count <= 200, !name.utf8.contains(0) else {
      throw StorageError.invalidLocation(
        "The location names no store, or one with more than 200 bytes.", "Add ?store=NAME to it.")
    }
    let shown = options
    let defaults = LocationText.defaults()
    if let service = options["service"] ?? services.environment("PGSERVICE") {
      options.fill(from: try services.options(of: service))
    }
    options.fill(from: defaults)
    try self.init(options, shown: shown, store: name, configuration)
  }

  private init(
    _ options: LocationOptions, shown: LocationOptions, store: String, _ configuration: PostgreSQLEngine.Configuration
  ) throws {
    self.store = store
    hosts = try ServerHost.list(options)
    tls = shown["sslmode"].flatMap { PostgreSQLEngine.Configuration.TLS(rawValue: $0) } ?? configuration.tls
    rootCertificates = configuration.rootCertificates ?? options["sslrootcert"] ?? Self.systemCertificates
    let seconds = options["connect_timeout"].flatMap { Int($0) }.flatMap { $0 > 0 ? min($0, 3_600) : nil }
    connectTimeout = seconds.map { .seconds($0) } ?? configuration.connectTimeout
    authentication = try AuthenticationMethod.list(options[AuthenticationMethod.keyword])
    answerTimeout = configuration.answerTimeout
    let file = PasswordFile(options["passfile"])
    exposedPasswordFile = file?.exposedMode.map { _ in file?.path ?? "" }
    password = configuration.password.map(PasswordCache.init)
    let base = Self.location(shown, hosts, database: options["dbname"] ?? options["user"])
    let others = shown.pairs.filter { !Self.inAuthority.contains(LocationText.Keyword($0.keyword)) }
      .map { "\($0.keyword)=\(LocationText.encoded($0.value))" }.sorted()
    description = base + "?" + (others + ["store=\(LocationText.encoded(store))"]).joined(separator: "&")
    // A handle that only reads must not share one that writes.
    let access = configuration.access == .readOnly ? "r" : ""
    database = base + "?" + others.joined(separator: "&") + "#\(configuration.instance)\(access)"
    self.options = Self.parameters(options, hidesPasswordFile: exposedPasswordFile != nil)
  }

  /// Refuses what a location must not decide.
  private static func check(_ options: LocationOptions, _ configuration: PostgreSQLEngine.Configuration) throws {
    let least = configuration.tls ?? .verifyFull
    if let mode = options["sslmode"], PostgreSQLEngine.Configuration.TLS(rawValue: mode).map({ $0 < least }) ?? true {
      throw StorageError.invalidLocation(
        "The location weakens the protection of the connection (sslmode=\(mode.escapingControlCharacters)).",
        "Remove it, or set tls of the configuration.")
    }
    if let binding = options["channel_binding"], !["disable", "prefer", "require"].contains(binding) {
      throw StorageError.invalidLocation(
        "The location has an invalid 'channel_binding'.", "Use disable, prefer or require.")
    }
    if options["replication"] != nil || options["gssencmode"] != nil || options["target_session_attrs"] != nil {
      throw StorageError.invalidLocation(
        "The location has a parameter that stores do not take: replication, gssencmode or target_session_attrs.",
        "Remove it: the primary among the hosts is found by itself.")
    }
  }

  private static let inAuthority: Set<LocationText.Keyword> = [
    LocationText.Keyword("user"), LocationText.Keyword("host"), LocationText.Keyword("port"),
    LocationText.Keyword("dbname"),
  ]

  private static func location(_ options: LocationOptions, _ hosts: [ServerHost], database: String?) -> String {
    let user = options["user"].map { LocationText.encoded($0) + "@" } ?? ""
    let names = options["host"] == nil && options["hostaddr"] == nil ? "" : hosts.map(\.text).joined(separator: ",")
    return "postgresql://\(user)\(names)/\(database.map(LocationText.encoded) ?? "")"
  }

  /// The bundle of Debian and its descendants: libpq 15 has no `sslrootcert=system`.
  static let systemCertificates = "/etc/ssl/certs/ca-certificates.crt"

  /// The parameters that are the same for all hosts.
  private static func parameters(_ options: LocationOptions, hidesPasswordFile: Bool) -> ConnectionParameters {
    var parameters = ConnectionParameters()
    let replaced = [
      "host", "hostaddr", "port", "service", "sslmode", "sslrootcert", "connect_timeout", "password",
      AuthenticationMethod.keyword,
    ]
    for (keyword, value) in options.pairs where !replaced.contains(keyword) { parameters.set(keyword, value) }
    parameters.password = options["password"].flatMap { SecretText($0) }
    parameters.set("client_encoding", "UTF8")
    if options["application_name"] == nil { parameters.set("application_name", "coffer") }
    // Otherwise libpq would look for a Kerberos ticket, and might ask servers for it, which blocks.
    parameters.set("gssencmode", "disable")
    parameters.set("target_session_attrs", "any")
    // Otherwise OpenSSL would ask for the password of an encrypted key at the terminal, which blocks.
    if options["sslpassword"] == nil { parameters.set("sslpassword", "-") }
    // A server whose machine is gone is noticed by these even while nothing is asked.
    parameters.set("keepalives_idle", options["keepalives_idle"] ?? "10")
    parameters.set("keepalives_interval", options["keepalives_interval"] ?? "5")
    parameters.set("keepalives_count", options["keepalives_count"] ?? "3")
    parameters.set("tcp_user_timeout", options["tcp_user_timeout"] ?? "20000")
    // libpq would print a warning about a file that others may read, and not use it.
    if hidesPasswordFile { parameters.set("passfile", "/nonexistent/.pgpass") }
    return parameters
  }

  /// The parameters for one address of a host; `nil` for a Unix socket.
  func parameters(for host: ServerHost, at address: String?, password: SecretText?) -> ConnectionParameters {
    var parameters = options
    parameters.set("host", host.name)
    parameters.set("port", String(host.port))
    if let address { parameters.set("hostaddr", address) }
    let mode = tls ?? (host.isLocal(at: address) ? .prefer : .verifyFull)
    parameters.set("sslmode", mode.rawValue)
    // With `require`, libpq would verify the authority if it found a file of its own.
    if mode >= .verifyAuthority { parameters.set("sslrootcert", rootCertificates) }
    if let password { parameters.password = password }
    // Without a verified certificate, whoever listens instead of the server would get the password. The owner of a
    // socket's directory is trusted.
    parameters.authentication = authentication ?? (host.isSocket || mode == .verifyFull ? nil : [.scram])
    parameters.demandsAuthentication = authentication != nil
    return parameters
  }

  /// The password of the configuration; `nil` for none. It is read once, in a thread of its own.
  func readPassword() async throws -> SecretText? { try await password?.read() }

  /// Reads the password again after the server has refused it, in case it was changed. Returns `nil` for the same one.
  func readChangedPassword(after old: SecretText?) async -> SecretText? { await password?.readChanged(after: old) }

  /// The hosts in the order in which they are tried.
  var order: [Int] {
    let first = preferred.withLock { $0 } ?? 0
    return hosts.indices.map { ($0 + first) % hosts.count }
  }

  /// Whether a host was a primary before.
  var hasPreferredHost: Bool { preferred.withLock { $0 } != nil }

  func prefer(_ host: Int) { preferred.withLock { $0 = host } }
}

/// The password of a configuration, which is read when it is first needed.
private final class PasswordCache: Sendable {
  private let source: PassphraseSource
  private let known = Locked<SecretText?>(nil)

  init(_ source: PassphraseSource) { self.source = source }

  func read() async throws -> SecretText {
    if let password = known.withLock({ $0 }) { return password }
    return try await readAgain()
  }

  func readChanged(after old: SecretText?) async -> SecretText? {
    // A source that can be read once only fails here: then the server's answer is what is reported.
    guard let password = try? await readAgain(), password != old else { return nil }
    return password
  }

  private func readAgain() async throws -> SecretText {
    let source = source
    let bytes = try await runBlocking { try source.read() }
    guard let password = SecretText(bytes) else {
      throw StorageError(
        .permissionDenied, "The password from \(source) contains a NUL byte.", advice: "Check the source.")
    }
    known.withLock { $0 = password }
    return password
  }
}
