import CofferFileSystem
import Foundation

/// What a ``StorageRouter`` knows of its application.
public struct StorageConfiguration: Sendable {
  /// The application's own name in homes that all applications share: directories, the keychain's service, the
  /// preferences. Its bundle identifier unless given, and the name of its process where there is none.
  public var application: String?
  /// The app group of domains that name none.
  public var appGroup: String?
  /// On what kind of device this program runs.
  public var platform = StorePlatform.current
  /// What happens to a key that no catalog has, once there are catalogs.
  public var unregisteredKeys = UnregisteredKeys.refuse
  /// Engines of your own, for `StorageDomain.engine`.
  public var engines: [String: any StorageEngine] = [:]
  /// How its stores are opened.
  public var stores = StoreOptions()
  /// What is sent to other devices.
  public var sync = SyncConfiguration()
  /// Whether every home is one in memory, gone with the router: for tests and previews.
  public var isInMemory = false
  /// How many decoded values of each home are kept in memory at most; 0 keeps none.
  public var cacheCapacity = 10_000
  /// Where the router keeps what it must remember itself: overrides of sync policies.
  public var memory = StorageDomain.userDefaults()

  /// The usual settings.
  public init() {}

  /// What happens to a key that no catalog has.
  public enum UnregisteredKeys: Sendable {
    /// An assertion in a debug build; an error with code `unregisteredKey` otherwise.
    case refuse
    /// An error with code `unregisteredKey`, in a debug build too.
    case throwError
    /// It is used as any other; the audit does not know it.
    case allow
  }

  var applicationName: String {
    application ?? SystemDirectories.current.bundleIdentifier ?? SystemDirectories.current.processName
  }
}

/// What a router sends to other devices, and when (document 4).
public struct SyncConfiguration: Sendable {
  /// The largest value of an ``SyncPolicy/automaticSmall`` key, in bytes of its serialised form.
  public var maximumAutomaticSize = 4_096
  /// Where a state for other devices is put; nowhere unless given.
  public var transport: (any SyncTransport)?
  /// Told why a value could not be sent after it was written. It is stored, and sent with the next one.
  public var onFailure: (@Sendable (any Error) -> Void)?

  /// The usual settings.
  public init() {}
}
