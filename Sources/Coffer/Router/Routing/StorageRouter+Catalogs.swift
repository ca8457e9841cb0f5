extension StorageRouter {
  /// Registers the keys of a catalog, all of them or none. Once a catalog is registered, keys without a catalog are
  /// refused.
  ///
  /// Keys that were used before their catalog was registered remain valid.
  /// - Parameters:
  ///   - catalog: the catalog; each can be registered once.
  ///   - migrateImmediately: whether the keys' migrations run now instead of when a key is first read. This version
  ///     runs no migrations, so with `true` it refuses a catalog that has one.
  /// - Throws: `StorageError`: `duplicateKey` for a name or a catalog that is already registered, `invalidDeclaration`
  ///   for a key without owner or description or with a security policy that its domain does not support, `insecureKey`
  ///   for a secret in a store that does not protect values or with a sync policy, `unsupported` for a catalog with a
  ///   migration if `migrateImmediately` is `true`, and the errors of reading the overrides of sync policies.
  public func registerCatalog(_ catalog: some StorageKeyCatalog, migrateImmediately: Bool = false) async throws {
    if migrateImmediately, let key = catalog.allKeys.first(where: \.descriptor.hasMigration) {
      throw StorageError(
        .unsupported, "The key has a migration, which this version does not support.",
        advice: "Register the catalog without migrateImmediately. No key of it was registered.",
        key: try? StoreKey(key.descriptor.name))
    }
    // Overrides of sync policies matter only if something is sent.
    if configuration.sync.transport != nil { try await loadSyncPolicies() }
    try registry.register(catalog)
    follower?.changed()
  }

  /// The registered catalogs, in the order of their registration.
  public nonisolated var allRegisteredCatalogs: [any StorageKeyCatalog] { registry.catalogs }

  /// The descriptors of all registered keys, in the order of their names.
  public nonisolated var allRegisteredEntries: [StorageKeyDescriptor] { registry.registered.map(\.descriptor) }
}
