public import CofferCore

extension StorageError.Code {
  /// The passphrase is empty or too long, or its two entries differ.
  public static let invalidPassphrase = Self("invalidPassphrase")
}
