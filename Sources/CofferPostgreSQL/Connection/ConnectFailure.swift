import CofferCPostgreSQL
import Foundation

/// Why a connection could not be established. It holds no text of the server or of libpq, which may name users.
enum ConnectFailure: Error, Hashable, Sendable {
  /// The system has no descriptor, thread or memory left.
  case exhausted
  /// The name of the host has no address.
  case unknownHost
  /// The name could not be looked up in time.
  case slowName
  /// The server did not answer in time.
  case deadline
  /// No server answered, with the number of the system's error, or 0.
  case unreachable(Int32)
  /// The parameters are not usable, such as a certificate file that cannot be read.
  case invalidParameters
  /// The server offers no TLS.
  case noTLS
  /// The server's certificate was refused, with OpenSSL's number.
  case certificate(Int)
  /// The server's certificate is for other names.
  case certificateName
  /// The handshake of TLS failed.
  case handshake
  /// The handshake failed before OpenSSL could be asked for the reason.
  case noVerdict
  /// The server asked for a password and there is none.
  case noPassword
  /// The server asked for a password in a way that is not allowed, or for no proof.
  case authentication
  /// The server offers no channel binding, which is demanded.
  case channelBinding
  /// The server refused the session, with its code.
  case refused(String)
  /// The server is a standby.
  case standby
  /// The server is a primary that takes no writes.
  case readOnly
  /// The server's version, as a number such as 140011, is too low.
  case oldVersion(Int)
  /// Something passes the statements of one connection to several server processes.
  case pooler
  /// The server did not confirm a commit in time.
  case unconfirmed
  /// The connection was lost while the session was set up.
  case lost(ConnectionLoss)

  /// Finds the reason why libpq has failed.
  /// - Parameters:
  ///   - stage: the state before the call that failed.
  ///   - handshake: the TLS session, if one was begun.
  ///   - bindsChannel: whether channel binding is demanded.
  init(of handle: OpaquePointer, stage: ConnStatusType, handshake: Handshake?, bindsChannel: Bool) {
    let text = pq_errorMessage(handle).map { String(cString: $0) } ?? ""
    if pq_connectionNeedsPassword(handle) != 0 {
      self = .noPassword
    } else if let code = Self.sqlState(in: text) {
      self = .refused(code)
    } else if stage == CONNECTION_NEEDED {
      // A Unix socket is connected, or not, before the first state.
      let number = Self.errorNumber(in: text)
      self = number == 0 ? .invalidParameters : .unreachable(number)
    } else if stage == CONNECTION_SSL_STARTUP {
      if let handshake {
        self = Self.tlsFailure(handshake)
      } else if pq_socket(handle) < 0 {
        // libpq drops the socket if the server closes it instead of answering whether it offers TLS.
        self = .unreachable(ECONNRESET)
      } else {
        self = Self.failureBeforeHandshake(text)
      }
    } else {
      let number = Self.errorNumber(in: text)
      self = number == 0 && bindsChannel ? .channelBinding : .unreachable(number)
    }
  }

  private static func failureBeforeHandshake(_ text: String) -> ConnectFailure {
    // The text names the file if one cannot be used, and only then contains a slash: hosts with one have no TLS.
    if text.contains("/") { return .invalidParameters }
    // OpenSSL's texts are never translated, unlike libpq's own.
    return text.contains("SSL error") || text.contains("certificate") ? .noVerdict : .noTLS
  }

  private static func tlsFailure(_ handshake: Handshake) -> ConnectFailure {
    if handshake.refusal != 0 { return .certificate(handshake.refusal) }
    // After the handshake libpq itself compares the name only.
    return handshake.isEstablished ? .certificateName : .handshake
  }

  /// Returns the code at the end of the server's last line, which is all that the chosen verbosity leaves of it.
  private static func sqlState(in text: String) -> String? {
    let last = text.split(whereSeparator: \.isNewline).last ?? ""
    guard let code = last.split(separator: " ").last, code.utf8.count == 5, last.contains(":") else { return nil }
    return code.utf8.allSatisfy { (48...57).contains($0) || (65...90).contains($0) } ? String(code) : nil
  }

  /// Returns the number of the system's error whose text libpq repeats; 0 if there is none.
  private static func errorNumber(in text: String) -> Int32 {
    let known = [ECONNREFUSED, ENOENT, EACCES, EHOSTUNREACH, ENETUNREACH, ETIMEDOUT, ECONNRESET, ENETDOWN, EPIPE]
    return known.first { text.contains(String(cString: strerror($0))) } ?? 0
  }
}
