import Coffer

extension TypedKey {
  /// Returns the key with a migration, which refers to the key itself.
  ///
  /// ```swift
  /// static let token = TypedKey<String>(secret: "token", in: .keychain(), owner: "Account", about: "The session.")
  ///   .migrating { AnyStorageMigration(from: StorageKeys.oldToken, to: $0) }
  /// ```
  /// - Parameter migration: creates the migration of the key that it receives. It is called at each use of the key
  ///   until the migration is done.
  public func migrating(_ migration: @escaping @Sendable (TypedKey) -> AnyStorageMigration?) -> TypedKey {
    TypedKey(parts: parts.with(migration, parts.schema))
  }

  /// Creates a key with the names of the parts of a ``StorageKey``.
  /// - Parameters:
  ///   - name: the name of the value in its store.
  ///   - domain: the domain in which the value is stored.
  ///   - security: the protection of the value.
  ///   - serializer: the serializer of the value.
  ///   - owner: the part of the application that owns the key.
  ///   - description: the purpose of the value, in a sentence.
  ///   - availability: the platforms on which the value exists.
  ///   - syncPolicy: whether the value is sent to other devices.
  ///   - lifetime: the time after each write from which the value is absent; `nil` for a value that does not expire.
  ///   - damage: the treatment of a damaged value; by default that of its store.
  ///   - migration: creates the migration of the key that it receives.
  public init(
    name: String, domain: StorageDomain, security: SecurityPolicy, serializer: Serializer<Value>, owner: String,
    description: String, availability: PlatformAvailability = .all, syncPolicy: SyncPolicy = .never,
    lifetime: Duration? = nil, damage: DamagePolicy<Value>? = nil,
    migration: (@Sendable (TypedKey) -> AnyStorageMigration?)? = nil
  ) {
    self.init(
      parts: Parts(
        name: name, domain: domain, security: security, serializer: serializer, owner: owner, description: description,
        availability: availability, syncPolicy: syncPolicy, migration: nil, defaultValue: nil,
        isSensitive: domain.isSecure, lifetime: lifetime, damagePolicy: damage, makeMigration: migration))
  }

  fileprivate init(parts: Parts) { self.parts = parts }

  /// Returns the key with the versions of its values, or the error of their declaration.
  func with(_ schema: Result<ValueSchema<Value>, StorageError>) -> TypedKey {
    TypedKey(parts: parts.with(parts.makeMigration, schema))
  }
}

extension TypedKey.Parts {
  fileprivate func with(
    _ makeMigration: (@Sendable (TypedKey) -> AnyStorageMigration?)?,
    _ schema: Result<ValueSchema<Value>, StorageError>?
  ) -> TypedKey.Parts {
    TypedKey.Parts(
      name: name, domain: domain, security: security, serializer: serializer, owner: owner, description: description,
      availability: availability, syncPolicy: syncPolicy, migration: makeMigration == nil ? migration : nil,
      defaultValue: defaultValue,
      isSensitive: isSensitive, lifetime: lifetime, damagePolicy: damagePolicy, makeMigration: makeMigration,
      schema: schema)
  }
}

extension SettingKey {
  /// Returns the key with a migration, which refers to the key itself.
  /// - Parameter migration: creates the migration of the key that it receives. It is called at each use of the key
  ///   until the migration is done.
  public func migrating(_ migration: @escaping @Sendable (SettingKey) -> AnyStorageMigration?) -> SettingKey {
    let valueIfAbsent = valueIfAbsent
    return SettingKey(key.migrating { migration(SettingKey($0, valueIfAbsent)) }, valueIfAbsent)
  }

  init(_ key: TypedKey<Value>, _ valueIfAbsent: Value) {
    self.key = key
    self.valueIfAbsent = valueIfAbsent
  }
}
