public import CofferCore

extension StorageError.Code {
  /// The key that a value was encrypted with is not in the store's key ring: it was destroyed, or the ring is another
  /// one. Values under other keys are not affected.
  public static let keyUnavailable = Self("keyUnavailable")
}
