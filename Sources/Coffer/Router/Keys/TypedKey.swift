public import Foundation

/// A key as a value: what most applications declare their keys with.
///
/// ```swift
/// extension StorageKey where Self == TypedKey<String> {
///   static var token: Self {
///     TypedKey(secret: "token", in: .keychain(), owner: "Account", about: "The session at the shop.")
///   }
/// }
/// ```
///
/// Each access of such a property makes the key anew, which takes a fraction of a microsecond; a `static let` in
/// ``StorageKeys`` makes it once.
public struct TypedKey<Value: Sendable>: StorageKey {
  @inlinable public var name: String { parts.name }
  @inlinable public var domain: StorageDomain { parts.domain }
  @inlinable public var security: SecurityPolicy { parts.security }
  @inlinable public var serializer: Serializer<Value> { parts.serializer }
  @inlinable public var owner: String { parts.owner }
  @inlinable public var description: String { parts.description }
  @inlinable public var availability: PlatformAvailability { parts.availability }
  @inlinable public var syncPolicy: SyncPolicy { parts.syncPolicy }
  @inlinable public var migration: AnyStorageMigration? { parts.migration }
  @inlinable public var defaultValue: Value? { parts.defaultValue }
  @inlinable public var isSensitive: Bool { parts.isSensitive }

  /// All parts in one piece: copying a key copies one reference, and the piece is what a router knows it by.
  @usableFromInline let parts: Parts
  @inlinable public var declaration: (any AnyObject & Sendable)? { parts }

  /// A key.
  /// - Parameters:
  ///   - name: the name of the value in its home.
  ///   - domain: where the value lives.
  ///   - owner: which part of the application it belongs to.
  ///   - about: what it is for, in a sentence.
  ///   - defaultValue: what reading gives while there is no value; without one, reading throws `notFound`.
  ///   - serializer: how it becomes bytes.
  ///   - security: how it is secured; what its home does by itself unless given.
  ///   - availability: on which platforms it exists.
  ///   - sync: whether it is sent to other devices.
  ///   - migration: what brings an older form of the value here.
  @inlinable  // so that a key that is made anew by each use costs next to nothing
  public init(
    _ name: String, in domain: StorageDomain, owner: String, about: String, default defaultValue: Value? = nil,
    as serializer: Serializer<Value>, security: SecurityPolicy? = nil, availability: PlatformAvailability = .all,
    sync: SyncPolicy = .never, migration: AnyStorageMigration? = nil
  ) {
    parts = Parts(
      name: name, domain: domain, security: security ?? domain.security, serializer: serializer, owner: owner,
      description: about, availability: availability, syncPolicy: sync, migration: migration,
      defaultValue: defaultValue, isSensitive: domain.isSecure)
  }

  /// A key of a secret. Homes that keep values as they are cannot be given: it does not compile. It is never synced and
  /// has no default.
  /// - Parameters:
  ///   - name: the name of the secret in its home; names are not secret.
  ///   - domain: where it lives.
  ///   - owner: which part of the application it belongs to.
  ///   - about: what it is for, in a sentence.
  ///   - serializer: how it becomes bytes.
  ///   - availability: on which platforms it exists.
  public init(
    secret name: String, in domain: SecretDomain, owner: String, about: String, as serializer: Serializer<Value>,
    availability: PlatformAvailability = .all
  ) {
    parts = Parts(
      name: name, domain: domain.domain, security: domain.security, serializer: serializer, owner: owner,
      description: about, availability: availability, syncPolicy: .never, migration: nil, defaultValue: nil,
      isSensitive: true)
  }
}

extension TypedKey {
  @usableFromInline
  final class Parts: Sendable {
    @usableFromInline let name: String
    @usableFromInline let domain: StorageDomain
    @usableFromInline let security: SecurityPolicy
    @usableFromInline let serializer: Serializer<Value>
    @usableFromInline let owner: String
    @usableFromInline let description: String
    @usableFromInline let availability: PlatformAvailability
    @usableFromInline let syncPolicy: SyncPolicy
    @usableFromInline let migration: AnyStorageMigration?
    @usableFromInline let defaultValue: Value?
    @usableFromInline let isSensitive: Bool

    @usableFromInline
    init(
      name: String, domain: StorageDomain, security: SecurityPolicy, serializer: Serializer<Value>, owner: String,
      description: String, availability: PlatformAvailability, syncPolicy: SyncPolicy, migration: AnyStorageMigration?,
      defaultValue: Value?, isSensitive: Bool
    ) {
      self.name = name
      self.domain = domain
      self.security = security
      self.serializer = serializer
      self.owner = owner
      self.description = description
      self.availability = availability
      self.syncPolicy = syncPolicy
      self.migration = migration
      self.defaultValue = defaultValue
      self.isSensitive = isSensitive
    }
  }
}

extension TypedKey where Value: Codable {
  /// A key whose value is stored as JSON.
  @inlinable
  public init(
    _ name: String, in domain: StorageDomain, owner: String, about: String, default defaultValue: Value? = nil,
    security: SecurityPolicy? = nil, availability: PlatformAvailability = .all, sync: SyncPolicy = .never,
    migration: AnyStorageMigration? = nil
  ) {
    self.init(
      name, in: domain, owner: owner, about: about, default: defaultValue, as: .json, security: security,
      availability: availability, sync: sync, migration: migration)
  }

  /// A key of a secret that is stored as JSON.
  public init(
    secret name: String, in domain: SecretDomain, owner: String, about: String,
    availability: PlatformAvailability = .all
  ) {
    self.init(secret: name, in: domain, owner: owner, about: about, as: .json, availability: availability)
  }
}

/// A home that keeps secrets: the only kind that a key of a secret takes.
public struct SecretDomain: Hashable, Sendable {
  let domain: StorageDomain
  let security: SecurityPolicy

  /// The system's keychain.
  /// - Parameters:
  ///   - service: whose secrets they are; the application's own unless given.
  ///   - accessGroup: a group of applications that share them. Nothing on Linux keeps others out.
  ///   - accessibility: when the secret may be read.
  ///   - accessControl: who must be there when it is read.
  public static func keychain(
    service: String? = nil, accessGroup: String? = nil, accessibility: KeychainAccessibility = .whenUnlocked,
    accessControl: KeychainAccessControl? = nil
  ) -> SecretDomain {
    SecretDomain(
      domain: .keychain(service: service, accessGroup: accessGroup),
      security: .keychain(accessibility: accessibility, accessControl: accessControl))
  }

  /// A sealed file. `StoreOptions/passphrase` of the router's configuration says where its passphrase is.
  public static func sealed(at file: URL) -> SecretDomain {
    SecretDomain(domain: .store(.sealed(path: file.path)), security: .keychain())
  }

  /// The system's keychain, or a sealed file where there is none, as `SecretChain` chooses.
  public static func keychain(service: String, accessGroup: String? = nil, orSealedAt file: URL) -> SecretDomain {
    let chain = StoreLocation.chain([.keychain(service: service, accessGroup: accessGroup), .sealed(path: file.path)])
    return SecretDomain(domain: .store(chain), security: .keychain())
  }

  /// An encrypted file.
  public static func encryptedFileSystem(
    _ directory: FileDirectory, as policy: EncryptionPolicy = .aes256
  ) -> SecretDomain {
    SecretDomain(domain: .encryptedFileSystem(directory), security: .encrypted(policy))
  }
}
