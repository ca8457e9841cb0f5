import Coffer
import Foundation

extension StorageRouter {
  /// Runs the policy of a key, or that of its store, after a read has failed, and returns if the value should be read
  /// again. A replacement is not sent to other devices: theirs may be intact.
  nonisolated func handle<K: StorageKey>(_ error: StorageError, of key: K, _ resolved: ResolvedKey) async throws {
    try await DeclaredValue(self, key, resolved).handle(error)
  }

  /// Begins to handle a damaged value for a caller that cannot wait.
  nonisolated func handleSoon<K: StorageKey>(_ error: StorageError, of key: K, _ resolved: ResolvedKey) {
    Task { try? await handle(error, of: key, resolved) }
  }
}

extension StorageConfiguration {
  /// Returns the policy for the damaged values of a store.
  func damagePolicy(at location: DomainLocation) -> DamagePolicy<Data> {
    for (domain, policy) in damagePolicies where (try? DomainLocation(domain, self)) == location { return policy }
    return .fail
  }

  /// Returns the limits of the cached values of a store.
  func cachePolicy(at location: DomainLocation) -> CachePolicy {
    for (domain, policy) in cachePolicies where (try? DomainLocation(domain, self)) == location { return policy }
    return cachePolicy
  }

  /// Returns when the values of a store are committed.
  func writePolicy(at location: DomainLocation) -> WritePolicy {
    for (domain, policy) in writePolicies where (try? DomainLocation(domain, self)) == location { return policy }
    return writePolicy
  }
}
