import CofferCore
import CofferFileSystem
public import CofferFiles
public import CofferSecrets

extension SwiftVault {
  /// Returns a vault over preferences: the property list that `UserDefaults(suiteName:)` reads, with each value stored
  /// as raw bytes.
  ///
  /// ```swift
  /// let service = SwiftVault.userDefaults(suiteName: "com.example.shop")
  /// ```
  ///
  /// Unlike `UserDefaults`, the vault delivers each change in `externalChanges` with its key and transaction, also for
  /// changes by other processes. `clearAll` removes this suite's keys. If the suite cannot be opened, every method that
  /// can throw reports the cause. The call blocks for a few milliseconds while the file is opened.
  /// - Parameters:
  ///   - suiteName: up to 128 letters, digits, `.`, `_` and `-`; `nil` for the application's own suite. The identifier
  ///     of an app group is the suite that its applications share.
  ///   - configuration: the settings with which the store is opened.
  public static func userDefaults(
    suiteName: String? = nil, configuration: SlotEngine.Configuration = SlotEngine.Configuration()
  ) -> EngineVaultService {
    service(over: UserDefaultsAdapter(suiteName: suiteName, configuration: configuration).engine)
  }

  /// Returns a vault over the keychain, which on Linux is the desktop's keyring.
  ///
  /// ```swift
  /// let service = SwiftVault.keychain(keyPrefix: "accounts.")
  /// ```
  ///
  /// A locked or missing keyring is an error in every method that can throw, and `exists` returns `false` only for keys
  /// that are proven absent. Changes by others arrive in `externalChanges`, including edits of values.
  /// - Parameters:
  ///   - keyPrefix: the prefix of all keys in the keychain; `clearAll` removes all keys with this prefix.
  ///   - accessGroup: the group of applications that share the secrets. On Linux it is not enforced.
  ///   - configuration: the settings with which the store is opened.
  public static func keychain(
    keyPrefix: String = "", accessGroup: String? = nil, configuration: KeychainConfiguration = KeychainConfiguration()
  ) -> EngineVaultService {
    let adapter = KeychainAdapter(
      service: keychainService, accessGroup: accessGroup, configuration: configuration)
    return EngineVaultService(engine: adapter.engine, keyPrefix: keyPrefix)
  }

  /// The keychain service of a vault's secrets.
  static var keychainService: String {
    let system = SystemDirectories.current
    return "\(system.bundleIdentifier ?? system.processName).SwiftVaultKeychainService"
  }
}
