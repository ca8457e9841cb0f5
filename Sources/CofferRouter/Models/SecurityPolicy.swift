public import CofferCore
public import CofferEncryption

/// The protection of a value in its store.
public enum SecurityPolicy: Hashable, Sendable {
  /// No protection: every process that can read the store can read the value.
  case none
  /// Protection by the system's keychain.
  /// - Parameters:
  ///   - accessibility: the states of the device in which the value can be read.
  ///   - accessControl: the authentication that is required to read the value. A key is
  ///     refused when it is used unless ``StorageConfiguration/authentication`` supports its access control.
  case keychain(accessibility: KeychainAccessibility = .whenUnlocked, accessControl: KeychainAccessControl? = nil)
  /// Encryption by this library, under a key that is not in the store. The names of encrypted keys in a store of plain
  /// values are not encrypted; those of `StorageDomain.encryptedFileSystem` can be.
  case encrypted(SecurityPolicy.Encryption)
}

extension SecurityPolicy {
  /// The cipher that encrypts a value, and the source of its key.
  public struct Encryption: Hashable, Sendable {
    /// An algorithm for authenticated encryption.
    public typealias Algorithm = EncryptionAlgorithm

    /// The cipher used for encryption. For keys of an encrypted store that declare no policy, that of the store's
    /// settings is used instead.
    public let algorithm: Algorithm
    /// The source of the encryption key; `nil` for the router's own key.
    public let keyMaterial: KeyMaterialSource?
    /// Whether the algorithm was declared for the key.
    let isDeclared: Bool

    /// Creates a policy.
    public init(_ algorithm: Algorithm, keyMaterial: KeyMaterialSource? = nil) {
      self.init(algorithm, keyMaterial, isDeclared: true)
    }

    private init(_ algorithm: Algorithm, _ keyMaterial: KeyMaterialSource?, isDeclared: Bool) {
      self.algorithm = algorithm
      self.keyMaterial = keyMaterial
      self.isDeclared = isDeclared
    }

    /// The policy of keys in an encrypted store that declare none.
    static let ofStore = SecurityPolicy.Encryption(.aes256, nil, isDeclared: false)

    /// AES-256-GCM under the router's own key.
    public static let aes256 = SecurityPolicy.Encryption(.aes256)
    /// ChaCha20-Poly1305 under the router's own key.
    public static let chaCha20Poly1305 = SecurityPolicy.Encryption(.chaCha20Poly1305)
  }
}

extension SecurityPolicy: CustomStringConvertible {
  /// A short description for reports.
  public var description: String {
    switch self {
    case .none: "unprotected"
    case .keychain(let accessibility, let control):
      "keychain, \(accessibility)" + (control.map { ", \($0)" } ?? "")
    case .encrypted(let policy):
      (policy.isDeclared ? policy.algorithm.rawValue : "encrypted")
        + (policy.keyMaterial.map { ", key of \($0.id.escapingControlCharacters)" } ?? "")
    }
  }
}
