/// How a value is secured in its home (document 4).
public enum SecurityPolicy: Hashable, Sendable {
  /// As it is: whoever can read the home can read the value.
  case none
  /// By the system's keychain.
  /// - Parameters:
  ///   - accessibility: when it may be read.
  ///   - accessControl: who must be there when it is read. Nothing here enforces it yet: a key that asks for one is
  ///     refused when it is used, never stored with less.
  case keychain(accessibility: KeychainAccessibility = .whenUnlocked, accessControl: KeychainAccessControl? = nil)
  /// Encrypted by this library. This version refuses to read or write it.
  case encrypted(EncryptionPolicy)
}

/// The cipher that encrypts a value, and the source of its key (document 4).
public struct EncryptionPolicy: Hashable, Sendable {
  /// An algorithm that encrypts and authenticates.
  public enum Algorithm: String, CaseIterable, Hashable, Sendable {
    /// AES-256-GCM (NIST SP 800-38D).
    case aes256 = "AES-256-GCM"
    /// ChaCha20-Poly1305 (RFC 8439).
    case chaCha20Poly1305 = "ChaCha20-Poly1305"
  }

  /// The cipher used for encryption.
  public let algorithm: Algorithm
  /// Where the key comes from; the router's own unless given.
  public let keyMaterial: KeyMaterialSource?

  /// A policy.
  public init(_ algorithm: Algorithm, keyMaterial: KeyMaterialSource? = nil) {
    self.algorithm = algorithm
    self.keyMaterial = keyMaterial
  }

  /// AES-256-GCM under the router's own key.
  public static let aes256 = EncryptionPolicy(.aes256)
  /// ChaCha20-Poly1305 under the router's own key.
  public static let chaCha20Poly1305 = EncryptionPolicy(.chaCha20Poly1305)
}

/// Names somebody outside who provides key material (document 4).
public struct KeyMaterialSource: Hashable, Sendable, ExpressibleByStringLiteral {
  /// Its name.
  public let id: String
  /// A source.
  public init(id: String) { self.id = id }
  public init(stringLiteral value: String) { id = value }
}

extension SecurityPolicy: CustomStringConvertible {
  /// In words for a report.
  public var description: String {
    switch self {
    case .none: "as it is"
    case .keychain(let accessibility, let control):
      "keychain, \(accessibility)" + (control.map { ", \($0)" } ?? "")
    case .encrypted(let policy):
      policy.algorithm.rawValue + (policy.keyMaterial.map { ", key of \($0.id.escapingControlCharacters)" } ?? "")
    }
  }
}
