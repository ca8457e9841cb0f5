public import CofferCore

extension StorageError.Code {
  /// No catalog has the key.
  public static let unregisteredKey = Self("unregisteredKey")
  /// Another key has the name already, or the same key has another type or home elsewhere.
  public static let duplicateKey = Self("duplicateKey")
  /// The declaration of a key is incomplete, or its parts contradict each other.
  public static let invalidDeclaration = Self("invalidDeclaration")
  /// A secret was to be kept where values are as they are.
  public static let insecureKey = Self("insecureKey")
  /// The key does not exist on this platform.
  public static let platformUnavailable = Self("platformUnavailable")
  /// The keys of a batch live in several homes, which cannot be changed at once.
  public static let notAtomic = Self("notAtomic")
  /// The value is larger than what is sent to other devices by itself.
  public static let dataTooLargeForSync = Self("dataTooLargeForSync")
}
