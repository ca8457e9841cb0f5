import CofferCore
import Foundation

/// The versions of keys that are declared with `versioned(by:)`.
extension StorageRouter {
  /// Brings the stored values of a key or of all members of a family to the present version. Creates no store.
  /// - Returns: the number of values that were changed.
  nonisolated func migrateVersions<K: StorageKey>(of key: K) async throws -> Int {
    let record = try registry.find(key).record
    guard record.schema != nil, try await mayExist(key.domain) else { return 0 }
    let isWhole = key.name == key.declaredName
    let resolved = isWhole ? try await resolve(declaration: key) : try await resolve(key)
    guard record.isFamily, isWhole else { return try await resolved.store.migrateValue(of: resolved.key) ? 1 : 0 }
    let report = try await resolved.store.migrate(prefix: resolved.record.key)
    if let failure = report.failures.first { throw failure.error }
    return report.migrated
  }
}

extension StorageKey {
  /// Brings the key to its present form: runs its migration, and brings its values to the present version.
  func migrated(by router: StorageRouter) async throws {
    // A key of another platform has no values here.
    if migration == nil, StorageKeyDescriptor(self).obstacle(router.configuration) != nil { return }
    if migration != nil { _ = try await router.resolve(declaration: self) }
    _ = try await router.migrateVersions(of: self)
  }
}

extension StorageKeyDescriptor {
  /// Whether stored values may have an older form, in another key or of another version.
  var mayBeOlder: Bool { hasMigration || schema != nil }
}

extension StorageRouter.ResolvedKey {
  /// - Throws: `migrationNeeded` for a value of another version; `newerFormat`.
  func requirePresent(_ attributes: ValueAttributes) throws {
    try record.schema?.requirePresent(attributes, of: key, at: store.coding.location)
  }

  /// Refuses versions in a store that cannot record them.
  func checkVersions() throws {
    guard record.schema != nil, !store.engine.isReadOnly else { return }
    guard
      store.engine.capabilities.contains([.attributes, .preconditions, .revisions, .atomicBatches, .snapshots])
    else {
      throw StorageError.unsupported(
        "versions of values", advice: "Give the key a domain with one of the built-in engines.",
        location: store.engine.description)
    }
  }
}
