/// An algorithm for authenticated encryption.
public enum EncryptionAlgorithm: String, CaseIterable, Hashable, Sendable {
  /// AES-256-GCM (NIST SP 800-38D), the fastest one on processors with instructions for AES.
  case aes256 = "AES-256-GCM"
  /// ChaCha20-Poly1305 (RFC 8439), the fastest one on other processors.
  case chaCha20Poly1305 = "ChaCha20-Poly1305"

  /// The algorithm in the library of algorithms.
  package var cipher: AEAD.Algorithm {
    switch self {
    case .aes256: .aes256GCM
    case .chaCha20Poly1305: .chaCha20Poly1305
    }
  }
}

/// The manner in which a store is encrypted. It is chosen when the store is created or first encrypted, is kept in its
/// key ring and never changes afterwards.
///
/// ```swift
/// var settings = EncryptionSettings()
/// settings.hidesNames = true
/// settings.padsValues = true
/// ```
public struct EncryptionSettings: Hashable, Sendable {
  /// The cipher of the values; AES-256-GCM by default.
  public var algorithm: EncryptionAlgorithm

  /// Whether the store holds a keyed hash instead of each key's name; `false` by default.
  public var hidesNames: Bool

  /// Whether values are padded, so that their stored sizes reveal less about them; `false` by default.
  public var padsValues: Bool

  /// Creates settings.
  public init(algorithm: EncryptionAlgorithm = .aes256, hidesNames: Bool = false, padsValues: Bool = false) {
    self.algorithm = algorithm
    self.hidesNames = hidesNames
    self.padsValues = padsValues
  }
}
