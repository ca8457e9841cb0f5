import CofferLocks
import CofferPresence

/// The access controls that the keys of a router declare, by their stores. An object of its own, which stores can hold
/// without holding the router.
final class DeclaredAccessControls: Sendable {
  private let records = Locked<[KeyRegistry.Record]>([])

  /// Adds a key that is used or registered, if it declares an access control.
  func add(_ record: KeyRegistry.Record) {
    guard record.descriptor.accessControl != nil else { return }
    records.withLock { $0.append(record) }
  }

  /// Returns the access control that the key of a name in a store, or its family, declares.
  func control(of key: StoreKey, in location: DomainLocation) -> KeychainAccessControl? {
    records.withLock { records in
      records.first {
        $0.location == .located(location) && ($0.isFamily ? key.hasPrefix($0.key) : key == $0.key)
      }?.descriptor.accessControl
    }
  }
}
