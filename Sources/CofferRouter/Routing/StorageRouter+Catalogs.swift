extension StorageRouter {
  /// Registers the keys of a catalog, all of them or none. Once a catalog is registered, keys without a catalog are
  /// refused.
  ///
  /// Keys that were used before their catalog was registered remain valid.
  /// - Parameters:
  ///   - catalog: the catalog; each can be registered once.
  ///   - migrateImmediately: whether the keys' migrations run now instead of when a key is first used, and their values
  ///     are brought to the present versions instead of when each is first read.
  /// - Throws: `StorageError`, and the errors of reading the overrides of sync policies. With `migrateImmediately`, the
  ///   error of the first migration that has failed. The catalog is registered then, the migrations of its other keys
  ///   have run, and that of the key runs again when the key is first used.
  ///   - `duplicateKey` for a name or a catalog that is already registered.
  ///   - `invalidDeclaration` for a key without owner or description or with a security policy that its domain does
  ///     not support.
  ///   - `insecureKey` for a secret in a store that does not protect values or with a sync policy.
  public func registerCatalog(_ catalog: some StorageKeyCatalog, migrateImmediately: Bool = false) async throws {
    // Overrides of sync policies matter only if something is sent.
    if configuration.sync.transport != nil { try await loadSyncPolicies() }
    try registry.register(catalog)
    follower?.changed()
    guard migrateImmediately else { return }
    let report = await migrate(catalog.allKeys.filter(\.descriptor.mayBeOlder))
    await remains.settle(upTo: MigrationRemains.shortSize)
    if let failure = report.failures.first { throw failure }
    if !report.cancelled.isEmpty { throw CancellationError() }
  }

  /// The registered catalogs, in the order of their registration.
  public nonisolated var allRegisteredCatalogs: [any StorageKeyCatalog] { registry.catalogs }

  /// The descriptors of all registered keys, in the order of their names.
  public nonisolated var allRegisteredEntries: [StorageKeyDescriptor] { registry.registered.map(\.descriptor) }
}
