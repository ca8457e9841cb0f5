import CofferCore
import Foundation

extension ConnectFailure {
  static let wrongPassword = "28P01"

  /// Whether another address of the same host may have a different answer.
  var concernsAddress: Bool {
    switch self {
    case .unreachable, .deadline, .lost, .noTLS, .handshake, .noVerdict, .certificate, .certificateName: true
    case .refused(let code): code.hasPrefix("57P") || code == "53300"
    default: false
    }
  }

  /// How much the failure tells, if several hosts have failed: a host that can be used after a change says more than
  /// one that is down.
  fileprivate var weight: Int {
    switch self {
    case .unreachable, .deadline, .unknownHost, .slowName, .lost: 0
    case .standby, .readOnly: 1
    case .refused(let code) where code.hasPrefix("57P"): 2
    case .unconfirmed: 2
    default: 3
    }
  }
}

extension ConnectionTarget {
  /// Whether a host may take writes soon, after failures of all hosts: a standby that is being promoted, or a server
  /// that is being started.
  func mayRecover(from failures: [(host: ServerHost, failure: ConnectFailure)]) -> Bool {
    failures.contains { _, failure in
      switch failure {
      case .standby: failures.count > 1
      case .refused(let code): code.hasPrefix("57P")
      default: false
      }
    }
  }

  /// Returns the error for hosts none of which can be used.
  func error(_ failures: [(host: ServerHost, failure: ConnectFailure)]) -> StorageError {
    guard let (host, failure) = failures.max(by: { $0.failure.weight < $1.failure.weight }) else {
      return StorageError(.unavailable, "The location has no host.", location: description)
    }
    let name = host.description.escapingControlCharacters
    var (code, message, advice) = description(of: failure, host: name)
    if case .refused(let code) = failure { message += " (SQLSTATE \(code))" }
    if case .standby = failure { message += downSentences(failures) }
    if failures.count > 1 { message += " None of the \(failures.count) hosts can be used." }
    if !advice.isEmpty { advice += " " }
    return StorageError(
      code, message, advice: advice + "Nothing was written.", location: description, underlying: failure.underlying)
  }

  /// Says beside standbys which hosts are down, since one of them may be the primary.
  private func downSentences(_ failures: [(host: ServerHost, failure: ConnectFailure)]) -> String {
    failures.filter { $0.failure.weight == 0 }.map { host, failure in
      " " + description(of: failure, host: host.description.escapingControlCharacters).message
    }.joined()
  }

  private typealias Description = (code: StorageError.Code, message: String, advice: String)

  private func description(of failure: ConnectFailure, host: String) -> Description {
    switch failure {
    case .exhausted:
      (.unavailable, "The system has no file descriptor, thread or memory left.", "Raise the limits of the process.")
    case .unknownHost:
      (.unavailable, "The name of the host \(host) has no address.", "Check the name and the network.")
    case .slowName:
      (.unavailable, "The name of the host \(host) could not be looked up in time.", "Check the name server.")
    case .deadline:
      (
        .unavailable, "The server \(host) did not answer in time.",
        "Check the host, the port and whether a firewall drops the connection."
      )
    case .unconfirmed:
      (
        .unavailable, "The server \(host) did not confirm a commit in time.",
        "Check whether its standbys are connected (pg_stat_replication). If another server was promoted, stop this one."
      )
    case .unreachable(let number): unreachable(host, number)
    case .lost(let loss):
      (.unavailable, "The connection to the server \(host) was lost. \(loss.reason)", "Try again.")
    case .invalidParameters:
      (
        .unsupported, "A parameter of the location is invalid, or a certificate or key file cannot be read.",
        "Check the files that sslrootcert, sslcert and sslkey name (sslrootcert: \(rootCertificates)); "
          + "a key must be readable for its owner only."
      )
    case .standby:
      (
        .unavailable, "The server \(host) takes no writes: it is a standby.",
        "Add the primary to the hosts of the location, or promote a standby."
      )
    case .readOnly:
      (
        .unavailable, "The server \(host) takes no writes: its default_transaction_read_only is on.",
        "Turn it off, or add the primary to the hosts of the location."
      )
    case .oldVersion(let version):
      (
        .unsupported, "The server \(host) has version \(version / 10_000); the oldest that works is 15.",
        "Update the server."
      )
    case .pooler:
      (
        .unsupported, "A connection pooler is in front of the server \(host), which changes the process that answers.",
        "Connect to the server itself, at its own port."
      )
    case .noTLS, .certificate, .certificateName, .handshake, .noVerdict: tlsDescription(of: failure, host: host)
    case .noPassword, .authentication, .channelBinding: proofDescription(of: failure, host: host)
    case .refused(let code): refusal(code, host: host)
    }
  }

  private func proofDescription(of failure: ConnectFailure, host: String) -> Description {
    switch failure {
    case .noPassword:
      (
        .permissionDenied, "The server \(host) demands a password, and there is none for this role.",
        exposedPasswordFile.map {
          "The password file '\($0.escapingControlCharacters)' is not used, since other users may read it: change its "
            + "permissions (chmod 600)."
        } ?? "Set the password of the configuration, or put it into ~/.pgpass or a service file."
      )
    case .authentication:
      (
        .permissionDenied,
        "The server \(host) does not prove that it knows the password by SCRAM-SHA-256, and may be another one.",
        "The password was not sent. Let the server use scram-sha-256 (pg_hba.conf, password_encryption) and set the "
          + "password again, use TLS with a verified certificate (sslmode=verify-full), or allow another way in the "
          + "location (\(AuthenticationMethod.keyword)=md5)."
      )
    default:
      (
        .permissionDenied, "The server \(host) offers no channel binding, which channel_binding=require demands.",
        "Turn TLS (ssl = on) and scram-sha-256 on at the server, or remove channel_binding from the location."
      )
    }
  }

  private func unreachable(_ host: String, _ number: Int32) -> Description {
    let what =
      switch number {
      case ECONNREFUSED: "No server listens at \(host)."
      case ENOENT: "There is no server with a socket in \(host)."
      case EACCES: "This user may not use the socket in \(host)."
      case EHOSTUNREACH, ENETUNREACH, ENETDOWN: "There is no route to the host \(host)."
      default: "The server \(host) cannot be reached, or has closed the connection."
      }
    return (
      number == EACCES ? .permissionDenied : .unavailable, what, "Check the host and the port, and start the server."
    )
  }

  private func tlsDescription(of failure: ConnectFailure, host: String) -> Description {
    switch failure {
    case .noTLS:
      (
        .permissionDenied, "The server \(host), or something on the way to it, offers no encrypted connection.",
        "Turn it on at the server (ssl = on). If it is on, the connection is being tampered with."
      )
    case .certificateName:
      (
        .permissionDenied, "The certificate of the server \(host) is for another name.",
        "Connect by a name that the certificate contains, or renew the certificate with this name."
      )
    case .certificate(let number): certificate(number, host: host)
    default:
      (
        .permissionDenied, "The encrypted connection to the server \(host) could not be set up.",
        "Check that the server supports TLS 1.2 or newer and that its certificate is trusted, and the certificate of "
          + "this client, if it needs one."
      )
    }
  }

  /// Numbers of `X509_verify_cert_error_string(3)`.
  private func certificate(_ number: Int, host: String) -> Description {
    let (what, advice) =
      switch number {
      case 10: ("has expired", "Renew the server's certificate, and check the clock of this machine.")
      case 9: ("is not valid yet", "Check the clocks of the server and of this machine.")
      case 23: ("was revoked", "Renew the server's certificate.")
      case 2, 18, 19, 20, 21:
        (
          "is not from an authority that is trusted",
          "If the server has an authority of its own, set rootCertificates of the configuration to a file with its "
            + "certificate; those in \(rootCertificates) were tried."
        )
      default: ("is not valid for this use", "Renew the server's certificate.")
      }
    return (.permissionDenied, "The certificate of the server \(host) \(what).", advice)
  }

  /// Codes of "PostgreSQL Error Codes".
  private func refusal(_ code: String, host: String) -> Description {
    switch code {
    case ConnectFailure.wrongPassword:
      (
        .permissionDenied, "The server \(host) refuses the password of this role, or there is no such role.",
        "Check the user in the location, and the password of the configuration, ~/.pgpass or the service file."
      )
    case "28000":
      (
        .permissionDenied, "The server \(host) does not accept this role from here.",
        "Add the role (createuser), or a rule for the role, the database and this host to the server's pg_hba.conf."
      )
    case "3D000":
      (.notFound, "The server \(host) has no such database.", "Check the name, or create the database (createdb).")
    case "42501":
      (
        .permissionDenied, "The role may not connect to this database of the server \(host).",
        "Grant it CONNECT on the database."
      )
    case "53300":
      (
        .unavailable, "The server \(host) has no free connection.",
        "Raise max_connections of the server or the limit of the role, or lower the maximum numbers of the "
          + "configuration."
      )
    case "57P03":
      (.unavailable, "The server \(host) is starting, recovering or shutting down.", "Try again in a moment.")
    case "57P01", "57P02": (.unavailable, "The server \(host) is shutting down.", "Start the server.")
    case "08P01":
      (
        .unsupported, "The server \(host), or a pooler in front of it, does not accept the session's parameters.",
        "Connect to the server itself, at its own port."
      )
    default: (.unavailable, "The server \(host) has refused the session.", "Look for the reason in the server's log.")
    }
  }
}

extension ConnectFailure {
  /// The number of OpenSSL or of the system.
  fileprivate var underlying: StorageError.Underlying? {
    switch self {
    case .unreachable(let number) where number != 0:
      .init(domain: "errno", code: Int(number), text: String(cString: strerror(number)))
    case .certificate(let number): .init(domain: "X509", code: number, text: "verification of the certificate")
    default: nil
    }
  }
}
