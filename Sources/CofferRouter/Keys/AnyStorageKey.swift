import Coffer

/// A type-erased key, for catalogs.
///
/// ```swift
/// let allKeys: [AnyStorageKey] = [.key(.theme), .key(.token), .family(StorageKeys.drafts)]
/// ```
public struct AnyStorageKey: Sendable {
  /// The declaration of the key, without types.
  public let descriptor: StorageKeyDescriptor
  /// The type of the value.
  let valueType: any Any.Type
  /// The wrapped key.
  public let key: any StorageKey

  /// Creates a type-erased key.
  public init<K: StorageKey>(_ key: K) {
    self.key = key
    descriptor = StorageKeyDescriptor(key)
    valueType = K.Value.self
  }

  /// Creates a type-erased key; short form for lists: `.key(.theme)`.
  public static func key<K: StorageKey>(_ key: K) -> AnyStorageKey { AnyStorageKey(key) }
}

/// The declaration of a key as plain data: names and settings, but no value.
public struct StorageKeyDescriptor: Hashable, Sendable {
  /// The name of the value in its store; of a family, the start of its members' names.
  public let name: String
  /// The name of the value's type.
  public let valueType: String
  /// The domain in which the value is stored.
  public let domain: StorageDomain
  /// The protection of the value in its store.
  public let security: SecurityPolicy
  /// The name of the serializer.
  public let serializer: String
  /// The part of the application that owns the key.
  public let owner: String
  /// The purpose of the value.
  public let description: String
  /// The platforms on which the value exists.
  public let availability: PlatformAvailability
  /// The declared sync policy, which ``StorageRouter/setSyncPolicy(_:for:)-(_,K)`` may override.
  public let syncPolicy: SyncPolicy
  /// Whether the key has a migration.
  public var hasMigration: Bool { migration != nil }
  /// Whether the key has a default, which reads return while there is no value.
  public let hasDefault: Bool
  /// Whether the value is a secret.
  public let isSensitive: Bool
  /// The time after each write from which the value is absent; `nil` for a value that does not expire.
  public let lifetime: Duration?
  /// The name of the type of the ids if this is the declaration of a ``KeyFamily``, otherwise `nil`.
  public let family: String?

  /// The name of the key's migration; `nil` if it has none.
  public let migration: String?
  /// The schema of the value with its present version; `nil` if it has none, or an invalid one.
  public let schema: SchemaMark?

  /// Creates the descriptor of a key.
  public init<K: StorageKey>(_ key: K) {
    name = key.declaredName
    valueType = String(describing: K.Value.self)
    domain = key.domain
    security = key.security
    serializer = key.serializer.name
    owner = key.owner
    description = key.description
    availability = key.availability
    syncPolicy = key.syncPolicy
    migration = key.migration?.name
    schema = (try? key.schema).map { SchemaMark($0.name, $0.version) }
    hasDefault = key.defaultValue != nil
    isSensitive = key.isSensitive
    lifetime = key.lifetime
    family = key.family?.idType
  }
}

/// A list of the keys of an application or of a part of it.
///
/// ```swift
/// struct SettingsCatalog: StorageKeyCatalog {
///   let allKeys: [AnyStorageKey] = [.key(.theme), .key(.syncInterval)]
/// }
///
/// try await router.registerCatalog(SettingsCatalog())
/// ```
public protocol StorageKeyCatalog: Sendable {
  /// The name of the catalog in reports and errors; by default the name of the type.
  var name: String { get }
  /// The keys of the catalog.
  var allKeys: [AnyStorageKey] { get }
}

extension StorageKeyCatalog {
  public var name: String { String(describing: Self.self) }
}
