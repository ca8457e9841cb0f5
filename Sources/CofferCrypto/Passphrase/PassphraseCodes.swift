public import CofferCore

extension StorageError.Code {
  /// The passphrase is empty, too long, or was not the same twice.
  public static let invalidPassphrase = Self("invalidPassphrase")
}
