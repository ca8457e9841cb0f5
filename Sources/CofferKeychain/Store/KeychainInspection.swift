import CofferFileSystem

/// Read-only checks of keychains, without opening them.
package enum KeychainInspection {
  /// Returns whether this user has opened the keychain of a service with this library before.
  /// - Throws: `StorageError` if that cannot be determined.
  package static func wasUsed(service: String, accessGroup: String?) throws -> Bool {
    try KeychainLocation(service: service, accessGroup: accessGroup, in: .current).wasUsed()
  }
}
