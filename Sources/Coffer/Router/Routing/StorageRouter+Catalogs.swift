extension StorageRouter {
  /// Adds the keys of a catalog, all of them or none. From the first catalog on, keys that none has are refused.
  ///
  /// Keys that were used before their catalog came stay what they are.
  /// - Parameters:
  ///   - catalog: whose keys they are; each catalog is registered once.
  ///   - migrateImmediately: whether the keys' migrations are carried out now and not when a key is first read. This
  ///     version carries none out, so it refuses a catalog that has one then.
  /// - Throws: `StorageError`: `duplicateKey` for a name or a catalog that is there already, `invalidDeclaration` for a
  ///   key without owner or description or with a security policy that its domain cannot carry out, `insecureKey` for a
  ///   secret in a plain home.
  public func registerCatalog(_ catalog: some StorageKeyCatalog, migrateImmediately: Bool = false) async throws {
    if migrateImmediately, let key = catalog.allKeys.first(where: \.descriptor.hasMigration) {
      throw StorageError(
        .unsupported, "The key has a migration, which this version cannot carry out.",
        advice: "Register the catalog without migrateImmediately. No key of it was registered.",
        key: try? StoreKey(key.descriptor.name))
    }
    // Only a write that sends something needs to know what was said otherwise.
    if configuration.sync.transport != nil { try await loadSyncPolicies() }
    try registry.register(catalog)
  }

  /// The catalogs in the order of their registration.
  public nonisolated var allRegisteredCatalogs: [any StorageKeyCatalog] { registry.catalogs }

  /// What is known of every registered key, in the order of their names.
  public nonisolated var allRegisteredEntries: [StorageKeyDescriptor] { registry.registered.map(\.descriptor) }
}
