import CofferCore
import CofferFileSystem
public import CofferKeychain
import CofferPreferences
public import CofferSlots

extension SwiftVault {
  /// A vault in the preferences: the property list that `UserDefaults(suiteName:)` reads, each value as its bytes.
  ///
  /// ```swift
  /// let service = SwiftVault.userDefaults(suiteName: "com.example.shop")
  /// ```
  ///
  /// Unlike `UserDefaults`, it tells in `externalChanges` which key was changed and by which transaction, also when
  /// another process did it. `clearAll` removes this suite's keys. While the suite cannot be opened, every use throws
  /// why. It blocks the caller while the file is opened, a few milliseconds.
  /// - Parameters:
  ///   - suiteName: up to 128 letters, digits, `.`, `_` and `-`; `nil` for the application's own. The identifier of an
  ///     app group is the suite that its applications share.
  ///   - configuration: how it is opened.
  public static func userDefaults(
    suiteName: String? = nil, configuration: SlotConfiguration = SlotConfiguration()
  ) -> EngineVaultService {
    service(over: UserDefaultsAdapter(suiteName: suiteName, configuration: configuration).engine)
  }

  /// A vault in the keychain: on Linux the desktop's keyring.
  ///
  /// ```swift
  /// let service = SwiftVault.keychain(keyPrefix: "accounts.")
  /// ```
  ///
  /// A locked or missing keyring is an error in every method that can throw one, and `exists` says `false` only for
  /// what is proven absent. Changes that others make arrive in `externalChanges`, edits of values included.
  /// - Parameters:
  ///   - keyPrefix: what the names of all keys begin with in the keychain; `clearAll` removes all keys that begin so.
  ///   - accessGroup: a group of applications that share the secrets. Nothing on Linux keeps others out.
  ///   - configuration: how it is opened.
  public static func keychain(
    keyPrefix: String = "", accessGroup: String? = nil, configuration: KeychainConfiguration = KeychainConfiguration()
  ) -> EngineVaultService {
    let adapter = KeychainAdapter(
      service: keychainService, accessGroup: accessGroup, configuration: configuration)
    return EngineVaultService(engine: adapter.engine, keyPrefix: keyPrefix)
  }

  /// Whose secrets those of a vault are.
  static var keychainService: String {
    let system = SystemDirectories.current
    return "\(system.bundleIdentifier ?? system.processName).SwiftVaultKeychainService"
  }
}
