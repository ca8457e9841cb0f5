import CofferFileSystem

/// A look at keychains that opens none and changes nothing.
package enum KeychainInspection {
  /// Whether this user has opened the keychain of a service by this library.
  /// - Throws: `StorageError` where that cannot be told.
  package static func wasUsed(service: String, accessGroup: String?) throws -> Bool {
    try KeychainPlace(service: service, accessGroup: accessGroup, in: .current).wasUsed()
  }
}
