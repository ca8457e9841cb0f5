public import CofferCore

extension EncryptedEngine {
  /// The options of an ``EncryptedEngine``.
  public struct Configuration: Sendable {
    /// The manner of encryption of a store that has no key ring yet. A store that has one keeps its own.
    public var settings: EncryptionSettings
    /// Whether the value of a key is encrypted; `nil`, the default, for all values of the store.
    ///
    /// The other values are stored in plain and pass through untouched. A plain value of a key that is encrypted is
    /// `notEncrypted`. Names cannot be hidden in such a store. The key ring states that only declared keys are
    /// encrypted, so that the store cannot be opened without this declaration. A store whose ring states that all
    /// values are encrypted encrypts all of them, whatever this declares.
    public var isEncrypted: (@Sendable (KeyName) -> Bool)?

    /// How the values of a key are encrypted, `nil` for a key that does not declare it. It is asked in the stead of
    /// ``isEncrypted``, once for each value.
    package var declared: (@Sendable (KeyName) -> ValueEncryption?)?

    /// How the store notices that an older copy of it was put back; `nil`, the default, if it does not.
    public var rollbackProtection: RollbackProtection?

    /// The label of the store, to which its key ring is bound, at most 1,024 bytes. By default (`nil`), it is the kind
    /// of the store and the last part of its address, whose symbolic links are resolved: `sqlite:shop.db`.
    ///
    /// A store does not open under another label (`wrongLabel`), so that of several stores with one root key none can
    /// be put in place of another. A store that is to be renamed, and stores of one name in several directories, need
    /// labels of their own: a name that each keeps wherever it is, such as `journal`. So does one whose address ends
    /// with a symbolic link or a mount point that may change. A backup has the label of its store. The error for a
    /// wrong label states the right one, which is sealed in the key ring.
    public var label: String?

    /// Whether a store of which only declared keys are encrypted opens without their declaration, for tools.
    ///
    /// A value is then opened if it is marked as encrypted, and is taken as it is otherwise: a plain value that
    /// somebody has planted in the stead of an encrypted one is returned, too. Whatever is written is encrypted, which
    /// a program with the declaration reads as well. A rotation leaves plain values as they are.
    package var acceptsDeclared = false

    /// When the key of the store is replaced without a call; `nil`, the default, for never. Ignored in a store that is
    /// open for reading only, and in one without listings and snapshots.
    public var automaticRotation: KeyRotation.Policy?

    /// Creates options.
    public init(
      settings: EncryptionSettings = EncryptionSettings(), only isEncrypted: (@Sendable (KeyName) -> Bool)? = nil
    ) {
      self.settings = settings
      self.isEncrypted = isEncrypted
    }

    /// Which values of a new store are encrypted.
    var coverage: KeyRing.Coverage { isEncrypted == nil ? .all : .declared }
  }
}

/// How the values of one key are encrypted.
package struct ValueEncryption: Sendable {
  /// The cipher of the values; `nil` for that of the settings.
  package let algorithm: EncryptionAlgorithm?

  package init(algorithm: EncryptionAlgorithm? = nil) { self.algorithm = algorithm }
}
