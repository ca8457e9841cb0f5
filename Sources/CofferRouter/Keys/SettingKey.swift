import Coffer

/// A key whose reads always have a value, because it has a default.
///
/// ``SettingKey`` conforms to it. `values(of:)` and `cached(_:)` of a router, and ``StorageSettings``, return values of
/// such keys that are not optional, and ``Stored`` properties need no initial value.
public protocol StorageKeyWithDefault<Value>: StorageKey {
  /// The value that reads return while none is stored; it is never written.
  var valueIfAbsent: Value { get }
}

extension StorageKeyWithDefault {
  public var defaultValue: Value? { valueIfAbsent }
}

/// The declaration of a value with a default, such as a setting.
///
/// ```swift
/// extension StorageKey where Self == SettingKey<Theme> {
///   static var theme: Self {
///     SettingKey("theme", in: .database(), owner: "Settings", about: "The colours of the window.", default: .system)
///   }
/// }
/// ```
public struct SettingKey<Value: Sendable>: StorageKeyWithDefault {
  @usableFromInline let key: TypedKey<Value>
  public let valueIfAbsent: Value

  @inlinable public var name: String { key.name }
  @inlinable public var domain: StorageDomain { key.domain }
  @inlinable public var security: SecurityPolicy { key.security }
  @inlinable public var serializer: Serializer<Value> { key.serializer }
  @inlinable public var owner: String { key.owner }
  @inlinable public var description: String { key.description }
  @inlinable public var availability: PlatformAvailability { key.availability }
  @inlinable public var syncPolicy: SyncPolicy { key.syncPolicy }
  @inlinable public var migration: AnyStorageMigration? { key.migration }
  public var schema: ValueSchema<Value>? { get throws { try key.schema } }
  @inlinable public var lifetime: Duration? { key.lifetime }
  @inlinable public var damagePolicy: DamagePolicy<Value>? { key.damagePolicy }
  @inlinable public var declaration: (any AnyObject & Sendable)? { key.declaration }

  /// Creates a key.
  /// - Parameters:
  ///   - name: the name of the value in its store.
  ///   - domain: the domain in which the value is stored.
  ///   - owner: the part of the application that owns the key; catalogs require it.
  ///   - about: the purpose of the value, in a sentence; catalogs require it.
  ///   - defaultValue: the value that reads return while none is stored.
  ///   - serializer: the serializer of the value.
  ///   - security: the protection of the value; by default that of the domain.
  ///   - availability: the platforms on which the value exists.
  ///   - sync: whether the value is sent to other devices.
  ///   - migration: the migration of an older form of the value.
  ///   - lifetime: the time after each write from which reads return the default again; `nil` for a value that does not
  ///     expire.
  ///   - damage: the treatment of a damaged value; by default that of its store.
  @inlinable
  public init(
    _ name: String, in domain: StorageDomain, owner: String = "", about: String = "", default defaultValue: Value,
    as serializer: Serializer<Value>, security: SecurityPolicy? = nil, availability: PlatformAvailability = .all,
    sync: SyncPolicy = .never, migration: AnyStorageMigration? = nil, lifetime: Duration? = nil,
    damage: DamagePolicy<Value>? = nil
  ) {
    key = TypedKey(
      name, in: domain, owner: owner, about: about, orDefault: defaultValue, as: serializer, security: security,
      availability: availability, sync: sync, migration: migration, lifetime: lifetime, damage: damage)
    valueIfAbsent = defaultValue
  }
}

extension SettingKey where Value: Codable {
  /// Creates a key whose value is stored as JSON.
  @inlinable
  public init(
    _ name: String, in domain: StorageDomain, owner: String = "", about: String = "", default defaultValue: Value,
    security: SecurityPolicy? = nil, availability: PlatformAvailability = .all, sync: SyncPolicy = .never,
    migration: AnyStorageMigration? = nil, lifetime: Duration? = nil,
    damage: DamagePolicy<Value>? = nil
  ) {
    self.init(
      name, in: domain, owner: owner, about: about, default: defaultValue, as: .json, security: security,
      availability: availability, sync: sync, migration: migration, lifetime: lifetime, damage: damage)
  }
}

extension StorageRouter {
  /// Returns a stream of the current value, or the key's default, and the value after each change by any writer.
  ///
  /// A slow consumer may skip intermediate values but always receives the latest one.
  /// - Throws: `StorageError` when the key cannot be used, for example because it is in no catalog; `closed`. A value
  /// that cannot be read is delivered as a failure, and the stream continues.
  public nonisolated func values<K: StorageKeyWithDefault>(
    of key: K
  ) async throws -> AsyncStream<Result<K.Value, StorageError>> {
    let (values, fallback) = (try await storedValues(of: key), key.valueIfAbsent)
    return AsyncStream {
      for await value in values { return value.map { $0 ?? fallback } }
      return nil
    }
  }

  /// Returns the value of a key if it is cached and still current, and otherwise its default. The default does not mean
  /// that nothing is stored.
  @inlinable
  public final nonisolated func cached<K: StorageKeyWithDefault>(_ key: K) -> K.Value {
    (cached(key) as K.Value?) ?? key.valueIfAbsent
  }
}
