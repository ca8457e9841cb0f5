import CofferCore
import CofferPresence
import Foundation

/// The versions of keys that are declared with `versioned(by:)`.
extension StorageRouter {
  /// Restores the bytes and attributes that a value had before it was brought to the present version.
  ///
  /// The next read by this version of the application migrates the value again: use it before the previous version of
  /// the application is installed again.
  /// - Throws: `StorageError`: `notFound` if no old form is kept, or the value was changed after its migration; and the
  ///   errors of `TypedStore.rollback(of:)`.
  public nonisolated func rollback<K: StorageKey>(_ key: K) async throws {
    let resolved = try await resolve(key)
    try await resolved.store.rollback(of: resolved.key)
  }

  /// Restores the old forms of all members of a family, each in a commit of its own.
  /// - Returns: the number of values that were rolled back; those changed after their migration are not.
  /// - Throws: `StorageError`; the values before it are rolled back.
  @discardableResult
  public nonisolated func rollback<ID, Value>(_ family: KeyFamily<ID, Value>) async throws -> Int {
    let resolved = try await resolve(declaration: family.declaration)
    return try await resolved.store.rollback(prefix: resolved.record.key)
  }

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
