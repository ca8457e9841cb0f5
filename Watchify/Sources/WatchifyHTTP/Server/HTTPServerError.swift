/// A failure to start a server. Nothing listens after it, and the server can be started again.
public enum HTTPServerError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The address could not be listened at, for a reason of the system such as "Address already in use".
  case cannotListen(host: String, port: UInt16, reason: String)
  /// The descriptor is not a listening socket.
  case notListening(descriptor: Int32, reason: String)
  /// The server is already running, or has not finished stopping.
  case isRunning
  /// The certificate chain or the private key cannot be read, or they do not belong together.
  case invalidIdentity
  /// The certificate chain and the private key were given in place of each other.
  case swappedIdentity
  /// The installed libmicrohttpd was built without TLS.
  case noTLS
  /// The system provides no thread, descriptor or memory.
  case exhausted

  /// The error as sentences.
  public var description: String {
    switch self {
    case .cannotListen(let host, let port, let reason):
      "The server cannot listen at \(host), port \(port): \(reason)."
        + " Use another port, or end the program that uses this one."
    case .notListening(let descriptor, let reason):
      "Descriptor \(descriptor) is not a listening socket: \(reason). Check the socket unit that passes it."
    case .isRunning: "The server is running. Stop it before starting it again."
    case .invalidIdentity:
      "The TLS certificate or key cannot be used. Both must be PEM texts, the key without a passphrase, and belong"
        + " together."
    case .swappedIdentity:
      "The TLS certificate and the private key are swapped: the key was given as the certificate, and the certificate"
        + " as the key."
    case .noTLS: "The installed libmicrohttpd has no TLS. Install one built with GnuTLS, as Debian's is."
    case .exhausted: "The system has no thread, descriptor or memory left for the server."
    }
  }
}
