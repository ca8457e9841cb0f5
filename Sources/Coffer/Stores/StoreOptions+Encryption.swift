import CofferCore
public import CofferEncryption
package import CofferSecrets

extension StoreOptions {
  /// The settings of encrypted stores (``StoreLocation/encrypted(_:)``) and of encrypted keys in other stores.
  ///
  /// ```swift
  /// var configuration = StorageConfiguration()
  /// configuration.encryption.key = .systemdCredential("shop-key")
  /// configuration.encryption.settings.hidesNames = true
  /// ```
  public struct Encryption: Sendable {
    /// The source of the root key of each store whose keys name no other source.
    ///
    /// By default, the desktop's keyring holds a random key for each application, which is created together with the
    /// first encrypted store (`KeychainKeyProvider`). Machines without a keyring need another source.
    public var key: RootKeySource?
    /// The providers of the key material that encryption policies name (`SecurityPolicy.Encryption.keyMaterial`).
    public var providers: [KeyMaterialSource: any KeyMaterialProviding] = [:]
    /// The manner of encryption of new encrypted stores. An existing one keeps its own.
    ///
    /// The algorithm that a key declares (`SecurityPolicy.encrypted`) decides for its values; that of the settings
    /// for keys of an encrypted store that declare none. Names of single keys in a store of plain values are not
    /// hidden.
    public var settings = EncryptionSettings()
    /// When the key of a store is replaced without a call, in the background while the store is open; `nil`, the
    /// default, for never. In a store of which single keys are encrypted, the keys must be declared soon after it is
    /// opened. A value of an unknown key keeps its old key, and the next attempt follows a day later.
    public var automaticRotation: KeyRotation.Policy?
    /// Returns the label of the store with a location, such as `sqlite:/var/lib/shop.db`, to which its key ring is
    /// bound (`EncryptedEngine.Configuration.label`). So no store of the application can be put in place of another
    /// one.
    ///
    /// By default, and where it returns `nil`, the label is the kind of the store and the last part of its address,
    /// whose symbolic links are resolved: `sqlite:shop.db`. So a store of the same name in another directory opens as
    /// well; with a label of its own it does not. A store that is to be renamed needs one, too.
    public var label: (@Sendable (_ store: String) -> String?)?
    /// Returns how the store with a location, such as `sqlite:/var/lib/shop.db`, notices that an older copy of it was
    /// put back; `nil`, the default, if none does. A store without encrypted values asks its anchor when it is opened,
    /// and is refused if the anchor knows encrypted ones or is not available. Each store needs an anchor of its own:
    ///
    /// ```swift
    /// configuration.encryption.rollbackProtection = { store in
    ///   RollbackProtection(anchor: FileAnchor(in: anchors, for: store))
    /// }
    /// ```
    public var rollbackProtection: (@Sendable (_ store: String) -> RollbackProtection?)?
    /// Whether the store that is opened next is anchored as it is.
    package var acceptsRollback = false
    /// The service of the keyring that holds the default key.
    package var service = "coffer"
    /// The provider of the key of the store that is opened next, if its keys name one.
    package var material: KeyMaterialSource?
    /// The encryption that a key of the store that is opened next declares.
    package var declared: (@Sendable (KeyName) -> ValueEncryption?)?

    /// Creates the default settings.
    public init() {}

    /// Returns the source of a store's root key.
    /// - Parameters:
    ///   - name: the key material that the policy of the store's keys names, if any.
    ///   - keychain: the settings of the keychain with the default key.
    /// - Throws: `unavailable` if no provider has that name.
    package func source(_ name: KeyMaterialSource?, _ keychain: KeychainConfiguration) throws -> RootKeySource {
      guard let name else {
        return key
          ?? .provider(KeychainKeyProvider(service: service, configuration: keychain), named: "encryption-key")
      }
      guard let provider = providers[name] else {
        throw StorageError(
          .unavailable, "No provider is registered for the key material '\(name.id.escapingControlCharacters)'.",
          advice: "Set StoreOptions.Encryption.providers for this name. Nothing was read or written.")
      }
      return .provider(provider, named: name)
    }

    /// Opens a store whose values are all encrypted. The store is closed again if its key ring cannot be opened.
    func open(_ base: StoreLocation, _ options: StoreOptions) async throws -> any StorageEngine {
      let source = try source(material, options.keychain)
      let engine = try await base.open(options)
      let configuration = configuration(settings, of: engine)
      do {
        guard acceptsRollback else {
          return try await EncryptedEngine.open(engine, key: source, configuration: configuration)
        }
        return try await EncryptedEngine.acceptRollback(of: engine, key: source, configuration: configuration)
      } catch {
        try? await engine.close()
        throw error
      }
    }

    /// Returns the options for single keys in a store of plain values, whose names cannot be hidden.
    package func configurationOfSingleKeys(in engine: any StorageEngine) -> EncryptedEngine.Configuration {
      var settings = settings
      settings.hidesNames = false
      return configuration(settings, of: engine)
    }

    private func configuration(_ settings: EncryptionSettings, of engine: any StorageEngine)
      -> EncryptedEngine.Configuration
    {
      var configuration = EncryptedEngine.Configuration(settings: settings)
      configuration.declared = declared
      configuration.label = label?(engine.description)
      configuration.rollbackProtection = rollbackProtection?(engine.description)
      configuration.automaticRotation = automaticRotation
      return configuration
    }
  }
}
