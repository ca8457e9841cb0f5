/// The error for a server whose identity could not be proved, so that nothing was sent to it.
struct InsecureConnection: Error, Hashable {
  /// What is wrong with the certificate or with the connection.
  enum Flaw: Hashable {
    case expired, notYetValid, wrongName, selfSigned, unknownIssuer, revoked, untrusted, noTLS

    /// Creates the flaw of a result of libcurl; `nil` for results that do not concern TLS.
    /// - Parameters:
    ///   - result: a `CURLcode`.
    ///   - verification: the result of OpenSSL's verification, `X509_V_ERR_...` of x509_vfy.h; 0 if the chain is valid.
    init?(result: Int32, verification: Int) {
      switch (result, verification) {
      case (35, _): self = .noTLS
      // libcurl compares the name before it stores the result of the verification, which is 1 until then.
      case (60, 0), (60, 1), (51, 0), (60, 62), (60, 64): self = .wrongName
      case (60, 10): self = .expired
      case (60, 9): self = .notYetValid
      case (60, 18): self = .selfSigned
      case (60, 2), (60, 19), (60, 20), (60, 21): self = .unknownIssuer
      case (60, 23): self = .revoked
      case (60, _), (51, _): self = .untrusted
      default: return nil
      }
    }
  }

  /// The host that was requested.
  var host: String
  /// What is wrong.
  var flaw: Flaw

  /// What is wrong, as a sentence.
  var sentence: String {
    switch flaw {
    case .expired: "The certificate of \(host) has expired."
    case .notYetValid: "The certificate of \(host) is not valid yet."
    case .wrongName: "The certificate that \(host) presents belongs to another site."
    case .selfSigned: "The certificate of \(host) is signed by itself, not by an authority."
    case .unknownIssuer: "The certificate of \(host) is not signed by a known authority."
    case .revoked: "The certificate of \(host) was revoked."
    case .untrusted: "The certificate of \(host) is not trusted."
    case .noTLS: "No secure connection to \(host) could be made: it does not use TLS, or none that is supported."
    }
  }
}
