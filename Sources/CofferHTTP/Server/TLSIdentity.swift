/// The certificate and private key that a server proves its name with.
///
/// Its description contains neither the key nor the certificate.
public struct TLSIdentity: Sendable, CustomStringConvertible, CustomReflectable {
  let certificateChain: String
  let privateKey: String

  /// Creates an identity from PEM texts.
  /// - Parameters:
  ///   - certificateChain: the server's certificate, then those of its issuers.
  ///   - privateKey: the key of the first certificate, without a passphrase.
  public init(certificateChain: String, privateKey: String) {
    self.certificateChain = certificateChain
    self.privateKey = privateKey
  }

  /// A text without secrets.
  public var description: String { "TLSIdentity" }
  /// A mirror without children, so that dumps show no secrets.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
