public import CofferCore

/// The options of an ``EncryptedEngine``.
public struct EncryptionConfiguration: Sendable {
  /// The manner of encryption of a store that has no key ring yet. A store that has one keeps its own.
  public var settings: EncryptionSettings
  /// Whether the value of a key is encrypted; `nil`, the default, for all values of the store.
  ///
  /// The other values are stored in plain and pass through untouched. A plain value of a key that is encrypted is
  /// `damaged`. Names cannot be hidden in such a store.
  public var isEncrypted: (@Sendable (StoreKey) -> Bool)?

  /// The cipher of the value of a key; `nil`, the default and for a key without one of its own: that of the settings.
  public var algorithm: (@Sendable (StoreKey) -> EncryptionAlgorithm?)?

  /// Creates options.
  public init(
    settings: EncryptionSettings = EncryptionSettings(), only isEncrypted: (@Sendable (StoreKey) -> Bool)? = nil
  ) {
    self.settings = settings
    self.isEncrypted = isEncrypted
  }
}
