import Coffer

/// The declaration of a value as a struct, which most applications use for their keys. Reads of a missing value throw
/// `notFound`; a ``SettingKey`` has a default instead.
///
/// ```swift
/// extension StorageKey where Self == TypedKey<String> {
///   static var token: Self {
///     TypedKey(secret: "token", in: .keychain(), owner: "Account", about: "The session at the shop.")
///   }
/// }
/// ```
///
/// Each access of such a property creates the key again, which takes a fraction of a microsecond; a `static let` in
/// ``StorageKeys`` creates it once.
public struct TypedKey<Value: Sendable>: StorageKey {
  @inlinable public var name: String { parts.name }
  @inlinable public var domain: StorageDomain { parts.domain }
  @inlinable public var security: SecurityPolicy { parts.security }
  @inlinable public var serializer: Serializer<Value> { parts.serializer }
  @inlinable public var owner: String { parts.owner }
  @inlinable public var description: String { parts.description }
  @inlinable public var availability: PlatformAvailability { parts.availability }
  @inlinable public var syncPolicy: SyncPolicy { parts.syncPolicy }
  public var migration: AnyStorageMigration? { parts.migration ?? parts.makeMigration?(self) }
  public var schema: ValueSchema<Value>? { get throws { try parts.schema?.get() } }
  @inlinable public var defaultValue: Value? { parts.defaultValue }
  @inlinable public var isSensitive: Bool { parts.isSensitive }
  @inlinable public var lifetime: Duration? { parts.lifetime }
  @inlinable public var damagePolicy: DamagePolicy<Value>? { parts.damagePolicy }

  /// All parts in one object: copying a key copies one reference, and a router recognizes the declaration by its
  /// identity.
  @usableFromInline let parts: Parts
  @inlinable public var declaration: (any AnyObject & Sendable)? { parts }

  /// Creates a key.
  /// - Parameters:
  ///   - name: the name of the value in its store.
  ///   - domain: the domain in which the value is stored.
  ///   - owner: the part of the application that owns the key; catalogs require it.
  ///   - about: the purpose of the value, in a sentence; catalogs require it.
  ///   - serializer: the serializer of the value.
  ///   - security: the protection of the value; by default that of the domain.
  ///   - availability: the platforms on which the value exists.
  ///   - sync: whether the value is sent to other devices.
  ///   - migration: the migration of an older form of the value.
  ///   - lifetime: the time after each write from which the value is absent; `nil` for a value that does not expire.
  ///   - damage: the treatment of a damaged value; by default that of its store.
  @inlinable  // keeps keys cheap that are created again at each use
  public init(
    _ name: String, in domain: StorageDomain, owner: String = "", about: String = "", as serializer: Serializer<Value>,
    security: SecurityPolicy? = nil, availability: PlatformAvailability = .all, sync: SyncPolicy = .never,
    migration: AnyStorageMigration? = nil, lifetime: Duration? = nil, damage: DamagePolicy<Value>? = nil
  ) {
    self.init(
      name, in: domain, owner: owner, about: about, orDefault: nil, as: serializer, security: security,
      availability: availability, sync: sync, migration: migration, lifetime: lifetime, damage: damage)
  }

  /// Creates the key that a ``SettingKey`` or a ``KeyFamily`` with a default wraps.
  @inlinable
  init(
    _ name: String, in domain: StorageDomain, owner: String, about: String, orDefault defaultValue: Value?,
    as serializer: Serializer<Value>, security: SecurityPolicy?, availability: PlatformAvailability,
    sync: SyncPolicy, migration: AnyStorageMigration?, lifetime: Duration?, damage: DamagePolicy<Value>?
  ) {
    parts = Parts(
      name: name, domain: domain, security: security ?? domain.security, serializer: serializer, owner: owner,
      description: about, availability: availability, syncPolicy: sync, migration: migration,
      defaultValue: defaultValue, isSensitive: domain.isSecure, lifetime: lifetime,
      damagePolicy: damage, makeMigration: nil)
  }

  /// Creates a key of a secret. A domain that does not protect values does not compile. The secret is never synced and
  /// has no default.
  /// - Parameters:
  ///   - name: the name of the secret in its store; names are not secret.
  ///   - domain: the domain in which the secret is stored.
  ///   - owner: the part of the application that owns the key; catalogs require it.
  ///   - about: the purpose of the secret, in a sentence; catalogs require it.
  ///   - serializer: the serializer of the secret.
  ///   - availability: the platforms on which the secret exists.
  ///   - lifetime: the time after each write from which the secret is absent; `nil` for one that does not expire.
  ///   - damage: the treatment of a damaged secret; by default that of its store.
  public init(
    secret name: String, in domain: SecretDomain, owner: String = "", about: String = "",
    as serializer: Serializer<Value>,
    availability: PlatformAvailability = .all, lifetime: Duration? = nil,
    damage: DamagePolicy<Value>? = nil
  ) {
    parts = Parts(
      name: name, domain: domain.domain, security: domain.security, serializer: serializer, owner: owner,
      description: about, availability: availability, syncPolicy: .never, migration: nil, defaultValue: nil,
      isSensitive: true, lifetime: lifetime, damagePolicy: damage, makeMigration: nil)
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
    @usableFromInline let lifetime: Duration?
    @usableFromInline let damagePolicy: DamagePolicy<Value>?
    /// Creates the migration of the key that has these parts.
    @usableFromInline let makeMigration: (@Sendable (TypedKey) -> AnyStorageMigration?)?
    /// The versions of the values, or the error of their declaration.
    @usableFromInline let schema: Result<ValueSchema<Value>, StorageError>?

    @usableFromInline
    init(
      name: String, domain: StorageDomain, security: SecurityPolicy, serializer: Serializer<Value>, owner: String,
      description: String, availability: PlatformAvailability, syncPolicy: SyncPolicy, migration: AnyStorageMigration?,
      defaultValue: Value?, isSensitive: Bool, lifetime: Duration?, damagePolicy: DamagePolicy<Value>?,
      makeMigration: (@Sendable (TypedKey) -> AnyStorageMigration?)?,
      schema: Result<ValueSchema<Value>, StorageError>? = nil
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
      self.lifetime = lifetime
      self.damagePolicy = damagePolicy
      self.makeMigration = makeMigration
      self.schema = schema
    }
  }
}

extension TypedKey where Value: Codable {
  /// Creates a key whose value is stored as JSON.
  @inlinable
  public init(
    _ name: String, in domain: StorageDomain, owner: String = "", about: String = "", security: SecurityPolicy? = nil,
    availability: PlatformAvailability = .all, sync: SyncPolicy = .never, migration: AnyStorageMigration? = nil,
    lifetime: Duration? = nil, damage: DamagePolicy<Value>? = nil
  ) {
    self.init(
      name, in: domain, owner: owner, about: about, as: .json, security: security, availability: availability,
      sync: sync, migration: migration, lifetime: lifetime, damage: damage)
  }

  /// Creates a key of a secret that is stored as JSON.
  public init(
    secret name: String, in domain: SecretDomain, owner: String = "", about: String = "",
    availability: PlatformAvailability = .all, lifetime: Duration? = nil,
    damage: DamagePolicy<Value>? = nil
  ) {
    self.init(
      secret: name, in: domain, owner: owner, about: about, as: .json, availability: availability, lifetime: lifetime,
      damage: damage)
  }
}
