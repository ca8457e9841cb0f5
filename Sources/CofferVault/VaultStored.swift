import Coffer
public import CofferRouter
public import Foundation

/// The definition of a property that ``VaultStored`` stores.
///
/// ```swift
/// enum Theme: VaultStorable {
///   static let defaultValue = "system"
/// }
///
/// @VaultStored(Theme.self) var theme
/// ```
public protocol VaultStorable {
  /// The type of the value.
  associatedtype Value: Codable & Equatable & Sendable
  /// The name of the value in its store; by default the name of this type.
  static var key: String { get }
  /// The value of the property while nothing is stored; it is never written.
  static var defaultValue: Value { get }
  /// The kind of store; by default the application's preferences.
  static var storageType: SwiftVaultStorageType { get }
  /// The encoder of the value; by default a plain `JSONEncoder`.
  static var encoder: JSONEncoder { get }
  /// The decoder of the value; by default a plain `JSONDecoder`.
  static var decoder: JSONDecoder { get }
  /// Registers the conversions of earlier types of the value; by default there are none.
  ///
  /// A stored value of an earlier type is converted each time it is read from the store, with ``encoder`` and
  /// ``decoder``; its bytes stay as they are until the property is next saved. ``DataMigrator`` describes how the type
  /// of stored bytes is found. If it cannot be converted, reads throw `migrationFailed` and the bytes stay.
  static func configure(builder: DataMigrator<Value>.Builder)
}

extension VaultStorable {
  public static var key: String { String(describing: Self.self) }
  public static var storageType: SwiftVaultStorageType { .userDefaults() }
  public static var encoder: JSONEncoder { JSONEncoder() }
  public static var decoder: JSONDecoder { JSONDecoder() }
  public static func configure(builder: DataMigrator<Value>.Builder) {}
}

/// The kind of store of a ``VaultStorable``. It is the same store as that of the corresponding service of
/// ``SwiftVault``, unless the router's configuration specifies another application.
public enum SwiftVaultStorageType: Hashable, Sendable {
  /// The preferences that `UserDefaults(suiteName:)` reads; by default the application's own suite.
  case userDefaults(suiteName: String? = nil)
  /// The system's keychain, with a prefix for all keys.
  case keychain(keyPrefix: String = "", accessGroup: String? = nil)
  /// One file per value.
  case fileSystem(location: SwiftVault.FileSystemLocation = .default)
  /// Memory, for tests and previews; the values are lost with the router.
  case mock

  /// The prefix of the keys in the store.
  var keyPrefix: String { if case .keychain(let prefix, _) = self { prefix } else { "" } }

  var domain: StorageDomain {
    switch self {
    case .userDefaults(let suite): return .userDefaults(suite: suite)
    case .keychain(_, let group): return .keychain(service: SwiftVault.keychainService, accessGroup: group)
    case .fileSystem(let location):
      do { return .fileSystem(.custom(try location.directory())) } catch {
        // A property cannot throw: the name of the missing engine carries the cause to the error of the first use.
        return .engine("SwiftVaultData: \(error.localizedDescription)")
      }
    case .mock: return .memory("SwiftVaultMock")
    }
  }
}

/// A property wrapper for a stored value that is declared by a ``VaultStorable``; otherwise the same as `Stored`.
///
/// Its key needs no catalog. No two definitions may have the same key.
@MainActor @propertyWrapper
public struct VaultStored<Value: Codable & Equatable & Sendable> {
  /// The value as an observable object.
  public let projectedValue: StoredValue<VaultKey<Value>>

  /// The current value. Setting it updates the property immediately and saves the value in the background.
  public var wrappedValue: Value {
    get { projectedValue.value }
    nonmutating set { projectedValue.value = newValue }
  }

  /// Creates a stored property.
  /// - Parameters:
  ///   - definition: the definition of the value.
  ///   - router: the router that stores the value.
  public init<D: VaultStorable>(_ definition: D.Type, in router: StorageRouter = .current) where D.Value == Value {
    let key = VaultKey<Value>(definition)
    projectedValue = StoredValue(key, in: router, initially: D.defaultValue)
  }
}

/// The key of a ``VaultStorable`` definition.
public struct VaultKey<Value: Codable & Equatable & Sendable>: StorageKey, UncataloguedKey {
  public let name: String
  public let domain: StorageDomain
  public let serializer: Serializer<Value>
  public let owner = "SwiftVault"
  public let description: String
  public let defaultValue: Value?

  /// Creates the key of a definition.
  public init<D: VaultStorable>(_ definition: D.Type) where D.Value == Value {
    name = D.storageType.keyPrefix + D.key
    domain = D.storageType.domain
    let builder = DataMigrator<Value>.Builder()
    D.configure(builder: builder)
    serializer = .migrating(builder.build(), JSONCodec(encoder: D.encoder, decoder: D.decoder))
    description = String(describing: D.self)
    defaultValue = D.defaultValue
  }
}

extension Serializer where Value: Codable & Equatable {
  fileprivate static func migrating(_ migrator: DataMigrator<Value>, _ codec: JSONCodec) -> Serializer {
    guard !migrator.isEmpty else { return .codec(codec, name: "JSON", isNative: true) }
    return Serializer(name: "JSON", isNative: true) {
      try codec.encode($0)
    } decode: {
      try migrator.value(from: $0, codec: codec).value
    }
  }
}
