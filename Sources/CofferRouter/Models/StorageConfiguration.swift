import Coffer
public import CofferCore
import CofferFileSystem
public import Foundation

/// The settings of a ``StorageRouter``.
public struct StorageConfiguration: Sendable {
  /// The name of the application in stores that all applications share: directories, the keychain's service, the
  /// preferences. By default its bundle identifier, or the name of its process where there is none.
  public var application: String?
  /// The version of the application, which migrations of keys can depend on; by default that of its bundle, or empty
  /// where there is none.
  public var appVersion = Bundle.main.infoDictionary?["CFBundleShortVersionString"] as? String ?? ""
  /// The time that an access of a key waits for the key's migration, after which it throws `busy`; a minute by default.
  /// The migration goes on.
  public var migrationLimit = Duration.seconds(60)
  /// The app group of domains that do not specify one.
  public var appGroup: String?
  /// The kind of device that the program runs on.
  public var platform = StorePlatform.current
  /// The treatment of keys that are in no catalog, once a catalog is registered.
  public var unregisteredKeys = UnregisteredKeys.refuse
  /// The engines of ``StorageDomain/engine(_:)`` by their names.
  public var engines: [String: any StorageEngine] = [:]
  /// The engines that take the place of domains' stores.
  var replacements: [StorageDomain: any StorageEngine] = [:]
  /// The settings with which stores are opened.
  public var stores = StoreOptions()
  /// The hook for logging and metrics of every store that the router opens: that of ``stores``.
  public var events: CofferEvents? {
    get { stores.events }
    set { stores.events = newValue }
  }
  /// The encryption of values: that of ``stores``. Its default key is in the keyring under the application's name.
  public var encryption: StoreOptions.Encryption {
    get { stores.encryption }
    set { stores.encryption = newValue }
  }
  /// What opening a store does with data of another origin: that of ``stores``.
  public var foreignData: ForeignData.Policy {
    get { stores.foreignData }
    set { stores.foreignData = newValue }
  }
  /// Asks the user before a secret with an access control is read: that of ``stores``. Without one, the default, keys
  /// with an access control are refused.
  public var authentication: AuthenticationContext? {
    get { stores.authentication }
    set { stores.authentication = newValue }
  }
  /// The access to every store of the router, the given engines included. With `StoreAccess.readOnly`, nothing is
  /// created or written, and every write throws `readOnly`. A store that does not exist, or an encrypted one that is
  /// empty and has no key ring yet, reads as an empty one. It is a shorthand for `StoreOptions.access` of ``stores``.
  public var access: StoreAccess {
    get { stores.access }
    set { stores.access = newValue }
  }
  /// The treatment of damaged values by the domain of their store, for keys without one of their own. The bytes that a
  /// policy returns are stored as they are.
  public var damagePolicies: [StorageDomain: DamagePolicy<Data>] = [:]
  /// Called when a policy has replaced a damaged value, or could not.
  public var onDamageHandled: (@Sendable (TypedStore.HandledDamage) -> Void)?
  /// The settings of sync with other devices.
  public var sync = StorageConfiguration.Sync()
  /// Whether every store is replaced by one in memory that is lost with the router, as for tests and previews; `false`
  /// by default. The engines of the configuration are used nevertheless.
  public var isInMemory = false
  /// The limits of the decoded values that are cached for each store, unless ``cachePolicies`` has others for it.
  public var cachePolicy = CachePolicy()
  /// The limits of the decoded values that are cached, by the domain of their store.
  public var cachePolicies: [StorageDomain: CachePolicy] = [:]
  /// When values are committed, for each store unless ``writePolicies`` has another policy for it: before a write
  /// returns by default. With write-back, secrets, values with versions and writes with a transaction id are
  /// nevertheless committed at once, and ``StorageRouter/settings(_:onFailure:)`` refuses keys of the store. See
  /// ``StorageRouter/flush()``.
  public var writePolicy = WritePolicy.through
  /// When values are committed, by the domain of their store.
  public var writePolicies: [StorageDomain: WritePolicy] = [:]
  /// The domain in which the router stores its own state: overrides of sync policies.
  public var stateDomain = StorageDomain.userDefaults()

  /// Creates the default settings.
  public init() {}

  /// The treatment of keys that are in no catalog.
  public enum UnregisteredKeys: Sendable {
    /// An assertion failure in a debug build; an error with code `unregisteredKey` otherwise.
    case refuse
    /// An error with code `unregisteredKey`, in a debug build too.
    case throwError
    /// The key is used like any other, but is missing from the audit.
    case allow
  }

  var applicationName: String {
    application ?? SystemDirectories.current.bundleIdentifier ?? SystemDirectories.current.processName
  }
}

extension StorageConfiguration {
  /// The settings of a router's sync with other devices.
  public struct Sync: Sendable {
    /// The maximum size of a value with the policy ``SyncPolicy/automaticSmall``, in bytes of its serialized form;
    /// 4,096 by default.
    public var maximumAutomaticSize = 4_096
    /// The transport to other devices; without one nothing is sent. A send that does not return delays all later ones,
    /// but no write.
    public var transport: (any SyncTransport)?
    /// Called with the error of each failed automatic send, and of a value that had to be left out because it could not
    /// be read. The values are stored, and the latest state is sent again after a pause of one second up to a minute.
    public var onFailure: (@Sendable (any Error) -> Void)?

    /// Creates the default settings.
    public init() {}
  }
}
