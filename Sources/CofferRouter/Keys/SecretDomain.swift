import Coffer
public import CofferCore
public import CofferEncryption
public import Foundation

/// A domain that protects its values: the only kind of domain that a key of a secret accepts.
///
/// ```swift
/// let secrets = SecretDomain.chain(
///   sealedAt: URL(fileURLWithPath: "/var/lib/shop/secrets.sealed"), passphrase: .systemdCredential("shop-secrets"))
/// let token = TypedKey<String>(secret: "token", in: secrets, owner: "Account", about: "The session at the shop.")
/// ```
public struct SecretDomain: Hashable, Sendable {
  let domain: StorageDomain
  let security: SecurityPolicy

  /// The system's keychain.
  /// - Parameters:
  ///   - service: the keychain service of the secrets; by default the application's own.
  ///   - accessGroup: the group of applications that share the secrets. On Linux it is not enforced.
  ///   - accessibility: the states of the device in which the secret can be read.
  ///   - accessControl: the authentication that is required to read the secret. Such keys are refused unless
  ///     ``StorageConfiguration/authentication`` supports it.
  public static func keychain(
    service: String? = nil, accessGroup: String? = nil, accessibility: KeychainAccessibility = .whenUnlocked,
    accessControl: KeychainAccessControl? = nil
  ) -> SecretDomain {
    SecretDomain(
      domain: .keychain(service: service, accessGroup: accessGroup),
      security: .keychain(accessibility: accessibility, accessControl: accessControl))
  }

  /// A sealed file, for machines without a desktop's keyring.
  /// - Parameters:
  ///   - file: the file, created with its directory when the first secret is used.
  ///   - passphrase: the source of the passphrase; by default `StoreOptions.passphrase` of the router's settings.
  ///   - accessControl: the authentication that is required to read the secret, besides the passphrase.
  public static func sealed(
    at file: URL, passphrase: PassphraseSource? = nil, accessControl: KeychainAccessControl? = nil
  ) -> SecretDomain {
    SecretDomain(
      domain: .sealed(file, passphrase: passphrase), security: .keychain(accessControl: accessControl))
  }

  /// A sealed file at a path.
  public static func sealed(
    at path: String, passphrase: PassphraseSource? = nil, accessControl: KeychainAccessControl? = nil
  ) -> SecretDomain {
    sealed(at: URL(fileURLWithPath: path), passphrase: passphrase, accessControl: accessControl)
  }

  /// The system's keychain, or a sealed file where there is no keychain, as selected by `SecretChain`.
  /// - Parameters:
  ///   - service: the keychain service of the secrets; by default the application's own.
  ///   - accessGroup: the group of applications that share the secrets. On Linux it is not enforced.
  ///   - file: the sealed file.
  ///   - passphrase: the source of its passphrase, which is read only if the file is selected; by default
  ///     `StoreOptions.passphrase` of the router's configuration.
  ///   - accessibility: the states of the device in which the secret can be read.
  ///   - accessControl: the authentication that is required to read the secret.
  public static func chain(
    service: String? = nil, accessGroup: String? = nil, sealedAt file: URL, passphrase: PassphraseSource? = nil,
    accessibility: KeychainAccessibility = .whenUnlocked, accessControl: KeychainAccessControl? = nil
  ) -> SecretDomain {
    SecretDomain(
      domain: .chain(service: service, accessGroup: accessGroup, sealed: file, passphrase: passphrase),
      security: .keychain(accessibility: accessibility, accessControl: accessControl))
  }

  /// An engine by its name in ``StorageConfiguration/engines``. A key in it is refused with `insecureKey` unless the
  /// engine declares `StoreCapabilities.Features.secrecy`, as keychains and sealed files do.
  public static func engine(_ name: String) -> SecretDomain {
    SecretDomain(domain: .engine(name), security: .keychain())
  }

  /// A store by its location. A key in it is refused with `insecureKey` unless the location is a keychain, a sealed
  /// file, a chain or an encrypted store, or of a `LocationScheme` that declares `LocationScheme.keepsSecrets`.
  public static func store(_ location: StoreLocation) -> SecretDomain {
    let domain = StorageDomain.store(location)
    return SecretDomain(domain: domain, security: domain.isEncrypted ? .encrypted(.ofStore) : .keychain())
  }

  /// A database whose other values may be plain: the values of secrets in it are encrypted, their names are not.
  public static func database(_ url: URL? = nil, as policy: SecurityPolicy.Encryption = .aes256) -> SecretDomain {
    SecretDomain(domain: .database(url), security: .encrypted(policy))
  }

  /// Encrypted files, one per value.
  public static func encryptedFileSystem(
    _ directory: FileDirectory, as policy: SecurityPolicy.Encryption = .aes256
  ) -> SecretDomain {
    SecretDomain(domain: .encryptedFileSystem(directory), security: .encrypted(policy))
  }
}
