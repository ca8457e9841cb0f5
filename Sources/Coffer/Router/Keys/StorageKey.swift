/// One value that an application keeps: its name and everything that must be known of it (document 4).
///
/// ```swift
/// extension StorageKey where Self == TypedKey<Theme> {
///   static var theme: Self {
///     TypedKey("theme", in: .userDefaults(), owner: "Settings", about: "The colours of the window.", default: .system)
///   }
/// }
///
/// let theme = try await router.get(.theme)
/// ```
///
/// ``TypedKey`` is the ready form. A type of your own conforms where a key needs a type, with the same members; those
/// that most keys do not change have a default.
public protocol StorageKey<Value>: Sendable {
  /// The type of the value.
  associatedtype Value: Sendable

  /// The name of the value in its home, 1 to 1,024 bytes; no two registered keys have the same.
  var name: String { get }
  /// Where the value lives.
  var domain: StorageDomain { get }
  /// How it is secured there.
  var security: SecurityPolicy { get }
  /// How it becomes bytes.
  var serializer: Serializer<Value> { get }
  /// Which part of the application it belongs to: a module, a team, a feature.
  var owner: String { get }
  /// What it is for, in a sentence.
  var description: String { get }
  /// On which platforms it exists. Everywhere, unless the key says otherwise.
  var availability: PlatformAvailability { get }
  /// Whether it is sent to the user's other devices. Never, unless the key says otherwise.
  var syncPolicy: SyncPolicy { get }
  /// What brings an older form of the value here. Nothing, unless the key says otherwise.
  var migration: AnyStorageMigration? { get }
  /// What reading gives while there is no value; it is never written. Without one, reading throws `notFound`.
  var defaultValue: Value? { get }
  /// Whether it is a secret, which no plain home may have. Keys in a keychain are, unless the key says otherwise.
  var isSensitive: Bool { get }
  /// An object that stands for all of these: keys that have the same one agree in every part, so that a router need not
  /// compare them again. `nil`, unless the key says otherwise.
  var declaration: (any AnyObject & Sendable)? { get }
}

extension StorageKey {
  public var availability: PlatformAvailability { .all }
  public var syncPolicy: SyncPolicy { .never }
  public var migration: AnyStorageMigration? { nil }
  public var defaultValue: Value? { nil }
  public var isSensitive: Bool { domain.isSecure }
  public var declaration: (any AnyObject & Sendable)? { nil }

  public var security: SecurityPolicy { domain.security }
}

extension StorageKey where Value: Codable {
  public var serializer: Serializer<Value> { .json }
}

/// Where an application's keys can be found by their names, as those of `Notification.Name` (document 4).
///
/// ```swift
/// extension StorageKeys {
///   static let theme = TypedKey<Theme>("theme", in: .userDefaults(), owner: "Settings", about: "The colours.")
/// }
///
/// try await router.set(.dark, for: StorageKeys.theme)
/// ```
public enum StorageKeys {}
