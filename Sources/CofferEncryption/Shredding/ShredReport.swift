public import CofferCore

/// The outcome of destroying keys of an encrypted store; see ``EncryptedEngine/shred(dryRun:from:)``.
public struct ShredReport: Sendable {
  /// Whether nothing was changed: the report says what would be.
  public let isDryRun: Bool
  /// The short ids of the destroyed keys.
  public internal(set) var destroyedKeys: [String]
  /// The number of values that were erased.
  public internal(set) var values = 0
  /// The size of the erased values in bytes, as they were stored.
  public internal(set) var bytes = 0
  /// The number of values that were removed from the quarantine.
  public internal(set) var quarantinedValues = 0
  /// The reasons why files of the store may still hold the destroyed keys, sealed under the root key: for example a
  /// reader that uses the log. The work is continued by ``EncryptedEngine/continueShredding(from:)`` and by the next
  /// opening of the store; another ``EncryptedEngine/shred(dryRun:from:)`` would erase what was written since, too.
  public internal(set) var obstacles: [StorageError] = []

  /// Whether the keys are in no file of the store any more.
  public var isComplete: Bool { obstacles.isEmpty }

  /// What this cannot reach, for a user interface.
  public static let limits = """
    Earlier copies of the store (backups, the files that a restore kept beside the store, snapshots of the file \
    system, blocks that a device has not erased) have the \
    keys as well, and can still be opened with the root key: the passphrase, the key file or the item in the keyring. \
    To destroy those too, destroy the root key: no copy of any age opens without it.
    """

  init(isDryRun: Bool, destroyedKeys: [String] = []) {
    self.isDryRun = isDryRun
    self.destroyedKeys = destroyedKeys
  }
}
