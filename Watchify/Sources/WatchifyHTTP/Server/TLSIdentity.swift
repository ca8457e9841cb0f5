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

  /// Whether a key was given as the certificate chain.
  var isSwapped: Bool { Self.isOnlyKey(certificateChain) }

  /// Returns whether a PEM text contains a private key and no certificate.
  public static func isOnlyKey(_ text: String) -> Bool {
    text.contains("PRIVATE KEY-----") && !text.contains("-----BEGIN CERTIFICATE-----")
  }

  /// A text without secrets.
  public var description: String { "TLSIdentity" }
  /// A mirror without children, so that dumps show no secrets.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
