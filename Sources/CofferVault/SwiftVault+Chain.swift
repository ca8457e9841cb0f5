public import CofferEncryption
public import CofferSecrets
public import Foundation

extension SwiftVault {
  /// Opens a vault over the keychain, or over a sealed file where there is no keychain, as selected by `SecretChain`.
  ///
  /// ```swift
  /// let service = try await SwiftVault.keychain(
  ///   keyPrefix: "accounts.", orSealedAt: URL(fileURLWithPath: "/var/lib/shop/secrets.sealed"),
  ///   passphrase: .systemdCredential("shop-secrets"))
  /// ```
  /// - Parameters:
  ///   - keyPrefix: the prefix of all keys in the store; `clearAll` removes all keys with this prefix.
  ///   - accessGroup: the group of applications that share the secrets. On Linux it is not enforced.
  ///   - file: the sealed file, created with its directory if it is selected and missing.
  ///   - passphrase: the source of its passphrase, which is read only if the file is selected.
  ///   - configuration: the settings with which the store is opened.
  /// - Throws: ``SwiftVaultError`` `.initializationFailed`, with a message that states the cause and the remedy.
  public static func keychain(
    keyPrefix: String = "", accessGroup: String? = nil, orSealedAt file: URL, passphrase: PassphraseSource,
    configuration: KeychainConfiguration = KeychainConfiguration()
  ) async throws -> EngineVaultService {
    let chain = SecretChain(
      .keychain(service: keychainService, accessGroup: accessGroup), .sealed(file, passphrase: passphrase))
    return try await VaultOperation.open.run {
      EngineVaultService(engine: try await chain.open(configuration: configuration), keyPrefix: keyPrefix)
    }
  }
}
