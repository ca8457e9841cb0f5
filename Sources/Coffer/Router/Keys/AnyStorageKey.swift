/// A key of any type, for catalogs (document 4).
///
/// ```swift
/// let allKeys: [AnyStorageKey] = [.key(.theme), .key(.token)]
/// ```
public struct AnyStorageKey: Sendable {
  /// What is known of it.
  public let descriptor: StorageKeyDescriptor
  /// The type of its value.
  let valueType: any Any.Type
  /// The key itself.
  public let key: any StorageKey

  /// Creates a type-erased key.
  public init<K: StorageKey>(_ key: K) {
    self.key = key
    descriptor = StorageKeyDescriptor(key)
    valueType = K.Value.self
  }

  /// The same for lists: `.key(.theme)`.
  public static func key<K: StorageKey>(_ key: K) -> AnyStorageKey { AnyStorageKey(key) }
}

/// Everything that is known of a key, without its value (document 4).
public struct StorageKeyDescriptor: Hashable, Sendable {
  /// The name of the value in its home.
  public let name: String
  /// The name of the value's type.
  public let valueType: String
  /// Where the value lives.
  public let domain: StorageDomain
  /// How it is secured there.
  public let security: SecurityPolicy
  /// The name of what makes bytes of it.
  public let serializer: String
  /// Which part of the application it belongs to.
  public let owner: String
  /// What it is for.
  public let description: String
  /// On which platforms it exists.
  public let availability: PlatformAvailability
  /// Whether it is sent to other devices, as the key says; an override may say otherwise.
  public let syncPolicy: SyncPolicy
  /// Whether something brings an older form of it.
  public let hasMigration: Bool
  /// Whether reading gives a default while there is no value.
  public let hasDefault: Bool
  /// Whether it is a secret.
  public let isSensitive: Bool

  /// What is known of a key.
  public init<K: StorageKey>(_ key: K) {
    name = key.name
    valueType = String(describing: K.Value.self)
    domain = key.domain
    security = key.security
    serializer = key.serializer.name
    owner = key.owner
    description = key.description
    availability = key.availability
    syncPolicy = key.syncPolicy
    hasMigration = key.migration != nil
    hasDefault = key.defaultValue != nil
    isSensitive = key.isSensitive
  }
}

/// The keys of an application or of a part of it (document 4).
///
/// ```swift
/// struct SettingsCatalog: StorageKeyCatalog {
///   let allKeys: [AnyStorageKey] = [.key(.theme), .key(.syncInterval)]
/// }
///
/// try await router.registerCatalog(SettingsCatalog())
/// ```
public protocol StorageKeyCatalog: Sendable {
  /// What reports and errors call it; the name of the type unless it says otherwise.
  var name: String { get }
  /// Its keys.
  var allKeys: [AnyStorageKey] { get }
}

extension StorageKeyCatalog {
  public var name: String { String(describing: Self.self) }
}
