public import CofferCore
public import CofferEncryption

extension PostgreSQLEngine {
  /// The settings with which a store in a PostgreSQL server is opened.
  ///
  /// ```swift
  /// var configuration = PostgreSQLEngine.Configuration()
  /// configuration.password = .systemdCredential("shop-database")
  /// configuration.rootCertificates = "/etc/shop/database-ca.pem"
  /// let engine = try await PostgreSQLEngine.open(
  ///   "postgresql://shop@db1.example.com,db2.example.com/shop?store=orders", configuration: configuration)
  /// ```
  ///
  /// What the location does not say is taken from the service that it names (`service=NAME`, a section of
  /// `~/.pg_service.conf`), then from libpq's environment variables (`PGHOST`, `PGUSER` and so on). `PGSSLMODE` has no
  /// effect; `PGPASSWORD` works as for `psql`, but every child process inherits it. Passwords are never taken from the
  /// location.
  ///
  /// Handles of one process on the same database use the settings of the handle that opened it first.
  @dynamicMemberLookup
  public struct Configuration: Sendable {
    /// The settings that every kind of store has.
    public var common = OpenSettings()

    /// The protection of the connection, as libpq's `sslmode` (PostgreSQL's manual, "SSL Support"), from the weakest to
    /// the strongest.
    public enum TLS: String, Sendable, CaseIterable, Comparable {
      /// Not encrypted.
      case disable
      /// Encrypted if the server offers it, with any certificate.
      case prefer
      /// Encrypted, with any certificate: an attacker who can redirect the connection can read and change everything.
      case require
      /// Encrypted, with a certificate of a trusted authority for any host.
      case verifyAuthority = "verify-ca"
      /// Encrypted, with a certificate of a trusted authority for the name of the host.
      case verifyFull = "verify-full"

      /// Returns whether the left protection is weaker than the right one.
      public static func < (left: TLS, right: TLS) -> Bool {
        (allCases.firstIndex(of: left) ?? 0) < (allCases.firstIndex(of: right) ?? 0)
      }
    }

    /// The source of the password; `nil` for none, or one from libpq's password file (`~/.pgpass`) or service file.
    ///
    /// It is read when the first connection is opened, and again when the server refuses the password, since it may
    /// have been changed.
    public var password: PassphraseSource?

    /// The protection of connections; `nil`, the default, for ``TLS-swift.enum/verifyFull`` to other hosts and
    /// ``TLS-swift.enum/prefer`` within this machine, by a loopback address or a Unix socket.
    ///
    /// A location may ask for more (`sslmode`), never for less.
    public var tls: TLS?

    /// The path of a file with the certificates of trusted authorities (PEM); `nil` for that of the location
    /// (`sslrootcert`), else the system's bundle `/etc/ssl/certs/ca-certificates.crt`.
    public var rootCertificates: String?

    /// The time for one host, from the lookup of its name until the session is set up; 5 s by default. A
    /// `connect_timeout` in the location, in seconds, replaces it.
    public var connectTimeout = Duration.seconds(5)

    /// The time within which the server must answer a statement or a commit, also while it waits for standbys; 10 s by
    /// default. A connection without an answer is given up.
    public var answerTimeout = Duration.seconds(10)

    /// The time for finding out the outcome of a commit whose connection was lost, after which it throws
    /// `outcomeUnknown`; 30 s by default.
    public var outcomeTimeout = Duration.seconds(30)

    /// The time for which a call waits while none of several hosts takes writes and one may soon, since it is a standby
    /// or is being started. By default it is 0: the call throws `unavailable`, and ``PostgreSQLEngine/availability()``
    /// says when the store can be used again. The `coffer` command sets 30 s.
    public var failoverTimeout = Duration.zero

    /// The maximum number of connections that commit at the same time, each for another store; 4 by default.
    public var maximumWriters = 4
    /// The maximum number of connections that reads share; 2 by default.
    public var maximumReaders = 2
    /// The maximum number of snapshots at the same time, each with a connection of its own; 8 by default.
    public var maximumSnapshots = 8

    /// The number of commits that the journal keeps for subscribers that fall behind: at least 1, and 10,000 by
    /// default.
    public var journalRetention = 10_000

    /// The size limit of a value in bytes, 64 MiB by default; the server takes up to 512 MiB.
    public var maximumValueSize = 64 << 20 {
      didSet { maximumValueSize = min(maximumValueSize, 512 << 20) }
    }

    /// Keeps the connections of handles apart that would share them otherwise, for tests of several processes in one.
    package var instance = 0

    /// Creates a configuration with the default settings.
    public init() {}

    /// The members of ``common``.
    @inlinable public subscript<Value>(dynamicMember member: WritableKeyPath<OpenSettings, Value>) -> Value {
      get { common[keyPath: member] }
      set { common[keyPath: member] = newValue }
    }
  }
}
