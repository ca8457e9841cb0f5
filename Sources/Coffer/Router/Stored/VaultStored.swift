public import Foundation

/// The definition of a stored property (document 0).
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
  /// The name of the value in its home; the name of this type unless given.
  static var key: String { get }
  /// What the property is while nothing is stored; it is never written.
  static var defaultValue: Value { get }
  /// Where the value lives; the application's preferences unless given.
  static var storageType: SwiftVaultStorageType { get }
  /// What makes bytes of it; plain JSON unless given.
  static var encoder: JSONEncoder { get }
  /// What makes a value of the bytes; plain JSON unless given.
  static var decoder: JSONDecoder { get }
}

extension VaultStorable {
  public static var key: String { String(describing: Self.self) }
  public static var storageType: SwiftVaultStorageType { .userDefaults() }
  public static var encoder: JSONEncoder { JSONEncoder() }
  public static var decoder: JSONDecoder { JSONDecoder() }
}

/// Where a vault lives (document 0): the homes of ``SwiftVault``'s services, which hold the same values, unless the
/// router's configuration names another application.
public enum SwiftVaultStorageType: Hashable, Sendable {
  /// The preferences that `UserDefaults(suiteName:)` reads; the application's own without a suite.
  case userDefaults(suiteName: String? = nil)
  /// The system's keychain, and what the names of all keys begin with in it.
  case keychain(keyPrefix: String = "", accessGroup: String? = nil)
  /// A file per value.
  case fileSystem(location: SwiftVault.FileSystemLocation = .default)

  /// What keys begin with in the home.
  var keyPrefix: String { if case .keychain(let prefix, _) = self { prefix } else { "" } }

  var domain: StorageDomain {
    switch self {
    case .userDefaults(let suite): return .userDefaults(suite: suite)
    case .keychain(_, let group): return .keychain(service: SwiftVault.keychainService, accessGroup: group)
    case .fileSystem(let location):
      do { return .fileSystem(.custom(try location.directory())) } catch {
        // A property cannot throw; its first use says why there is no such directory.
        return .engine("SwiftVaultData: \(error.localizedDescription)")
      }
    }
  }
}

/// A stored property by its definition (document 0): ``Stored`` under another name.
///
/// Its key needs no catalog: the definition says everything. No two definitions have the same key.
@MainActor @propertyWrapper
public struct VaultStored<Value: Codable & Equatable & Sendable> {
  /// The value as an object that a user interface can be bound to.
  public let projectedValue: StoredValue<VaultKey<Value>>

  /// The value.
  public var wrappedValue: Value {
    get { projectedValue.value }
    nonmutating set { projectedValue.value = newValue }
  }

  /// A stored property.
  /// - Parameters:
  ///   - definition: which value it is.
  ///   - router: where it is stored.
  public init<D: VaultStorable>(_ definition: D.Type, in router: StorageRouter = .shared) where D.Value == Value {
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

  /// The key of a definition.
  public init<D: VaultStorable>(_ definition: D.Type) where D.Value == Value {
    name = D.storageType.keyPrefix + D.key
    domain = D.storageType.domain
    serializer = .codec(JSONCodec(encoder: D.encoder, decoder: D.decoder), name: "JSON")
    description = String(describing: D.self)
    defaultValue = D.defaultValue
  }
}
