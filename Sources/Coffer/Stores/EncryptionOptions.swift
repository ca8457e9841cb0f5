import CofferCore
public import CofferEncryption
import CofferKeychain

/// The settings of encrypted stores (``StoreLocation/encrypted(_:)``) and of encrypted keys in other stores.
///
/// ```swift
/// var configuration = StorageConfiguration()
/// configuration.encryption.key = .systemdCredential("shop-key")
/// configuration.encryption.settings.hidesNames = true
/// ```
public struct EncryptionOptions: Sendable {
  /// The source of the root key of each store whose keys name no other source.
  ///
  /// By default, the desktop's keyring holds a random key for each application, which is created together with the
  /// first encrypted store (`KeychainKeyProvider`). Machines without a keyring need another source.
  public var key: RootKeySource?
  /// The providers of the key material that encryption policies name (``EncryptionPolicy/keyMaterial``).
  public var providers: [KeyMaterialSource: any KeyMaterialProviding] = [:]
  /// The manner of encryption of new encrypted stores. An existing one keeps its own. The algorithm and the hiding of
  /// names do not concern single keys in a store of plain values.
  public var settings = EncryptionSettings()
  /// The service of the keyring that holds the default key.
  var service = "coffer"
  /// The provider of the key of the store that is opened next, if its keys name one.
  var material: KeyMaterialSource?
  /// The algorithm of a key of the store that is opened next, if it declares one.
  var algorithm: (@Sendable (StoreKey) -> EncryptionAlgorithm?)?

  /// Creates the default settings.
  public init() {}

  /// Returns the source of a store's root key.
  /// - Parameters:
  ///   - name: the key material that the policy of the store's keys names, if any.
  ///   - keychain: the settings of the keychain with the default key.
  /// - Throws: `unavailable` if no provider has that name.
  func source(_ name: KeyMaterialSource?, _ keychain: KeychainConfiguration) throws -> RootKeySource {
    guard let name else {
      return key
        ?? .provider(KeychainKeyProvider(service: service, configuration: keychain), named: "encryption-key")
    }
    guard let provider = providers[name] else {
      throw StorageError(
        .unavailable, "No provider is registered for the key material '\(name.id.escapingControlCharacters)'.",
        advice: "Set EncryptionOptions.providers for this name. Nothing was read or written.")
    }
    return .provider(provider, named: name)
  }

  /// Opens a store whose values are all encrypted. The store is closed again if its key ring cannot be opened.
  func open(_ base: StoreLocation, _ options: StoreOptions) async throws -> any StorageEngine {
    let source = try source(material, options.keychain)
    var configuration = EncryptionConfiguration(settings: settings)
    configuration.algorithm = algorithm
    let engine = try await base.open(options)
    do { return try await EncryptedEngine.open(engine, key: source, configuration: configuration) } catch {
      try? await engine.close()
      throw error
    }
  }

  /// Returns an engine that encrypts the values of those keys of an open store that declare an algorithm.
  func extended(_ base: any StorageEngine, _ options: StoreOptions) async throws -> any StorageEngine {
    let declared = algorithm
    var configuration = EncryptionConfiguration { declared?($0) != nil }
    configuration.algorithm = declared
    configuration.settings.padsValues = settings.padsValues
    return try await EncryptedEngine.open(
      base, key: try source(material, options.keychain), configuration: configuration)
  }
}
