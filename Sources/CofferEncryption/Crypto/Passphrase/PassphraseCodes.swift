public import CofferCore

extension StorageError.Code {
  /// The passphrase is empty or too long, or its two entries differ.
  public static let invalidPassphrase = Self("invalidPassphrase")

  /// Key material is too short or too long, is evidently not random, or its provider returns other bytes each time.
  public static let invalidKeyMaterial = Self("invalidKeyMaterial")
}
