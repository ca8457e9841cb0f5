import Coffer

/// The declaration of any number of values of one type, each with an id: one draft per document, one token per account.
///
/// ```swift
/// extension StorageKeys {
///   static let drafts = KeyFamily<Int, Draft>("drafts", in: .database(), owner: "Editor", about: "Unsent messages.")
/// }
///
/// let allKeys: [AnyStorageKey] = [.key(.theme), .family(StorageKeys.drafts)]      // in a catalog
///
/// try await router.set(draft, for: StorageKeys.drafts[7])
/// let ids = try await router.ids(of: StorageKeys.drafts)
/// try await router.removeAll(of: StorageKeys.drafts)
/// ```
///
/// A member, such as `drafts[7]`, is a ``StorageKey`` like any other. Its name is ``prefix`` and the text of the id:
/// `drafts/7`. All names that start with the prefix belong to the family; no other key or family of its store can have
/// one. Declaration, audit, sync policy and default are those of the family.
public struct KeyFamily<ID: KeyFamilyID, Value: Sendable>: Sendable {
  /// The declaration, of which ``prefix`` is the name.
  let template: TypedKey<Value>
  let namespace: KeyFamilyNamespace

  /// The start of the members' names: the name of the family and the separator.
  public var prefix: String { template.name }

  /// Creates a family.
  /// - Parameters:
  ///   - name: the name of the family, with which the names of its members start.
  ///   - separator: the text between the name and the id; `/` by default. Another one adopts values that an earlier
  ///     version has stored, such as `draft-7`.
  ///   - domain: the domain in which the values are stored.
  ///   - owner: the part of the application that owns the family; catalogs require it.
  ///   - about: the purpose of the values, in a sentence; catalogs require it.
  ///   - defaultValue: the value that reads of any member return while none is stored; without it, they throw
  ///     `notFound`.
  ///   - serializer: the serializer of the values.
  ///   - security: the protection of the values; by default that of the domain.
  ///   - availability: the platforms on which the values exist.
  ///   - sync: whether the values are sent to other devices.
  ///   - lifetime: the time after each write from which a value is absent; `nil` for values that do not expire.
  ///   - damage: the treatment of a damaged value; by default that of its store.
  public init(
    _ name: String, separator: String = "/", in domain: StorageDomain, owner: String = "", about: String = "",
    default defaultValue: Value? = nil, as serializer: Serializer<Value>, security: SecurityPolicy? = nil,
    availability: PlatformAvailability = .all, sync: SyncPolicy = .never, lifetime: Duration? = nil,
    damage: DamagePolicy<Value>? = nil
  ) {
    self.init(
      name, separator,
      TypedKey(
        name + separator, in: domain, owner: owner, about: about, orDefault: defaultValue, as: serializer,
        security: security, availability: availability, sync: sync, migration: nil, lifetime: lifetime,
        damage: damage))
  }

  /// Creates a family of secrets. A domain that does not protect values does not compile. The secrets are never synced
  /// and have no default.
  /// - Parameters:
  ///   - name: the name of the family, with which the names of its members start; names are not secret, and so neither
  ///     are ids.
  ///   - separator: the text between the name and the id; `/` by default.
  ///   - domain: the domain in which the secrets are stored.
  ///   - owner: the part of the application that owns the family; catalogs require it.
  ///   - about: the purpose of the secrets, in a sentence; catalogs require it.
  ///   - serializer: the serializer of the secrets.
  ///   - availability: the platforms on which the secrets exist.
  ///   - lifetime: the time after each write from which a secret is absent; `nil` for secrets that do not expire.
  ///   - damage: the treatment of a damaged secret; by default that of its store.
  public init(
    secret name: String, separator: String = "/", in domain: SecretDomain, owner: String = "", about: String = "",
    as serializer: Serializer<Value>, availability: PlatformAvailability = .all, lifetime: Duration? = nil,
    damage: DamagePolicy<Value>? = nil
  ) {
    self.init(
      name, separator,
      TypedKey(
        secret: name + separator, in: domain, owner: owner, about: about, as: serializer, availability: availability,
        lifetime: lifetime, damage: damage))
  }

  init(_ family: KeyFamily, _ template: TypedKey<Value>) {
    self.template = template
    namespace = KeyFamilyNamespace(
      name: family.namespace.name, separator: family.namespace.separator, idType: family.namespace.idType)
  }

  private init(_ name: String, _ separator: String, _ template: TypedKey<Value>) {
    self.template = template
    namespace = KeyFamilyNamespace(name: name, separator: separator, idType: String(describing: ID.self))
  }

  /// Returns the key of a member. A call for an id that is empty, or too long for a name of 1,024 bytes, throws
  /// `invalidKey` when the key is used.
  public subscript(id: ID) -> KeyFamilyMember<Value> {
    KeyFamilyMember(name: template.name + id.keyText, template: template, namespace: namespace)
  }

  /// The declaration as a key, whose name is the prefix.
  var declaration: KeyFamilyMember<Value> {
    KeyFamilyMember(name: template.name, template: template, namespace: namespace)
  }
}

extension KeyFamily where Value: Codable {
  /// Creates a family whose values are stored as JSON.
  public init(
    _ name: String, separator: String = "/", in domain: StorageDomain, owner: String = "", about: String = "",
    default defaultValue: Value? = nil, security: SecurityPolicy? = nil, availability: PlatformAvailability = .all,
    sync: SyncPolicy = .never, lifetime: Duration? = nil,
    damage: DamagePolicy<Value>? = nil
  ) {
    self.init(
      name, separator: separator, in: domain, owner: owner, about: about, default: defaultValue, as: .json,
      security: security, availability: availability, sync: sync, lifetime: lifetime,
      damage: damage)
  }

  /// Creates a family of secrets that are stored as JSON.
  public init(
    secret name: String, separator: String = "/", in domain: SecretDomain, owner: String = "", about: String = "",
    availability: PlatformAvailability = .all, lifetime: Duration? = nil,
    damage: DamagePolicy<Value>? = nil
  ) {
    self.init(
      secret: name, separator: separator, in: domain, owner: owner, about: about, as: .json, availability: availability,
      lifetime: lifetime, damage: damage)
  }
}
