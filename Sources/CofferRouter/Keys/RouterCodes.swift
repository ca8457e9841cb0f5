public import CofferCore

extension StorageError.Code {
  /// The key is in no registered catalog.
  public static let unregisteredKey = Self("unregisteredKey")
  /// Another key has the same name, or the key is declared elsewhere with another type or domain.
  public static let duplicateKey = Self("duplicateKey")
  /// A secret was declared in a store that does not protect values, or with a sync policy that would send it.
  public static let insecureKey = Self("insecureKey")
  /// The key does not exist on this platform.
  public static let platformUnavailable = Self("platformUnavailable")
  /// The keys of a batch or a state are in several stores, for which there is no common commit or snapshot.
  public static let notAtomic = Self("notAtomic")
  /// The value is larger than the limit for automatic sync.
  public static let dataTooLargeForSync = Self("dataTooLargeForSync")
}
