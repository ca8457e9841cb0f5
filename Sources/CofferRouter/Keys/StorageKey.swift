import Coffer

/// The declaration of one value of an application: its name, type, store, protection and purpose.
///
/// ```swift
/// extension StorageKey where Self == SettingKey<Theme> {
///   static var theme: Self {
///     SettingKey("theme", in: .userDefaults(), owner: "Settings", about: "The window's colours.", default: .system)
///   }
/// }
///
/// let theme = try await router.get(.theme)
/// ```
///
/// ``TypedKey`` conforms to it and suits most applications. A custom type can conform instead; members that most keys
/// leave unchanged have defaults.
public protocol StorageKey<Value>: Sendable {
  /// The type of the value.
  associatedtype Value: Sendable

  /// The name of the value in its store, 1 to 1,024 bytes of UTF-8. It must be unique in its
  /// store; that of a synced key, among all registered keys.
  var name: String { get }
  /// The domain in which the value is stored.
  var domain: StorageDomain { get }
  /// The protection of the value in its store; by default that of the domain.
  var security: SecurityPolicy { get }
  /// The serializer of the value; for `Codable` values ``Serializer/json`` by default.
  var serializer: Serializer<Value> { get }
  /// The part of the application that owns the key: a module, a team, a feature.
  var owner: String { get }
  /// The purpose of the value, in a sentence.
  var description: String { get }
  /// The platforms on which the value exists; all by default.
  var availability: PlatformAvailability { get }
  /// Whether the value is sent to the user's other devices; never by default.
  var syncPolicy: SyncPolicy { get }
  /// The migration of an older form of the value; none by default.
  var migration: AnyStorageMigration? { get }
  /// The versions of the value's type; `nil`, the default, for values without versions. An error is thrown when the key
  /// is registered or used.
  var schema: ValueSchema<Value>? { get throws }
  /// The value that reads return while none is stored; it is never written. If it is `nil`, reads throw `notFound`.
  var defaultValue: Value? { get }
  /// Whether the value is a secret, which only a store made for secrets may hold; by default `true` in such a domain.
  var isSensitive: Bool { get }
  /// The time after each write from which the value is absent; `nil`, the default, for a value that does not expire.
  var lifetime: Duration? { get }
  /// The treatment of a damaged value; `nil`, the default, for the policy of its store.
  var damagePolicy: DamagePolicy<Value>? { get }
  /// An object that identifies the declaration: keys with the same object agree in every part, so a router does not
  /// compare them again. `nil` by default: of such keys with one name, the first that a router meets gives serializer
  /// and damage policy for all.
  var declaration: (any AnyObject & Sendable)? { get }
  /// The names of the family that the key is a member of, which share one declaration; `nil` by default.
  var family: KeyFamilyNamespace? { get }
}

extension StorageKey {
  public var availability: PlatformAvailability { .all }
  public var syncPolicy: SyncPolicy { .never }
  public var migration: AnyStorageMigration? { nil }
  public var schema: ValueSchema<Value>? { nil }
  public var defaultValue: Value? { nil }
  public var isSensitive: Bool { domain.isSecure }
  public var lifetime: Duration? { nil }
  public var damagePolicy: DamagePolicy<Value>? { nil }
  public var declaration: (any AnyObject & Sendable)? { nil }
  public var family: KeyFamilyNamespace? { nil }

  public var security: SecurityPolicy { domain.security }
}

extension StorageKey where Value: Codable {
  public var serializer: Serializer<Value> { .json }
}

/// A namespace for an application's keys, to be extended like `Notification.Name`.
///
/// ```swift
/// extension StorageKeys {
///   static let theme = TypedKey<Theme>("theme", in: .userDefaults(), owner: "Settings", about: "The colours.")
/// }
///
/// try await router.set(.dark, for: StorageKeys.theme)
/// ```
public enum StorageKeys {}
