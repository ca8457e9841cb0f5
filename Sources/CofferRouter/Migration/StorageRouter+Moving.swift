/// What the ready kinds of migrations do.
extension StorageRouter {
  /// Returns whether one of a migration's older keys has a value.
  nonisolated func hasValue<K: StorageKey>(_ sources: [AnyStorageKey], for key: K) async throws -> Bool {
    try refuseOwnKey(sources, key)
    return try await inMigration(of: key, "") {
      // An interrupted run under another name has removed some or all of them.
      if let engine = try await self.existingStore(of: key.domain)?.engine {
        let log = try await MigrationLog(of: KeyName(key.name), in: engine)
        let identities = MigrationLog.identities(of: sources)
        if log.entries.contains(where: { $0.isInterrupted(amidst: identities) }) { return true }
      }
      for source in sources {
        // Not resolved, which would migrate the older key itself.
        let record = try source.key.record(in: self.registry)
        if try await self.awaitsMigration(record) { return true }
        guard let engine = try await self.existingStore(of: source.descriptor.domain)?.engine else { continue }
        if try await !self.storedKeys(of: record, in: engine).isEmpty { return true }
      }
      return false
    }
  }

  /// Moves older values to a key.
  nonisolated func move<K: StorageKey>(
    _ sources: [AnyStorageKey], to key: K, name: String,
    make: @escaping @Sendable (MigrationValues) async throws -> K.Value
  ) async throws -> MigrationResult {
    try refuseOwnKey(sources, key)
    return try await inMigration(of: key, name) {
      // A condition around a migration is recorded under its own name.
      let name = MigrationScope.current(self.registry)?.name ?? name
      let move = ValueMove(router: self, key: key, sources: sources, name: name) { values in
        do { return try await make(values) } catch let error as MigrationError { throw error } catch let error
          where !(error is CancellationError)
        {
          throw MigrationError.transformFailed(key: key.name, reason: "\(type(of: error)) was thrown")
        }
      }
      if let resumed = MigrationRemains.resumed, resumed == MigrationTarget(try self.registry.find(key).record) {
        try await move.resumeRemoval()
        return MigrationResult(success: true)
      }
      return try await move.run()
    }
  }

  /// A key cannot be its own older key: removing the older value would remove the new one.
  private nonisolated func refuseOwnKey<K: StorageKey>(_ sources: [AnyStorageKey], _ key: K) throws {
    for source in sources where source.descriptor.name == key.name {
      guard let old = try? DomainLocation(source.descriptor.domain, configuration) else { continue }
      guard try old != DomainLocation(key.domain, configuration) else {
        throw MigrationError.unsupported(key: key.name)
      }
    }
  }

  /// Runs `body` as the migration of a key, also if the application has called the migration itself.
  private nonisolated func inMigration<K: StorageKey, R: Sendable>(
    of key: K, _ name: String, _ body: @escaping @Sendable () async throws -> R
  ) async throws -> R {
    let target = MigrationTarget(try registry.find(key).record)
    if MigrationScope.current(registry)?.isMigrating(target) == true { return try await body() }
    return try await MigrationScope.enter(target, name, registry, body)
  }
}

extension StorageKey {
  fileprivate func record(in registry: KeyRegistry) throws -> KeyRegistry.Record { try registry.find(self).record }
}
