extension StorageRouter {
  /// Runs the migration of a key now, whether or not it is recorded as done: for example because an older version of
  /// the application has stored an older value again.
  ///
  /// ```swift
  /// let result = try await router.forceMigration(for: .token)
  /// ```
  ///
  /// A value that the key has is not replaced, but brought to the present version if the key has versions.
  /// - Returns: what was migrated. For a key without a migration and without versions, nothing was.
  /// - Throws: `StorageError`: `migrationFailed`, and the errors of the stores. The older value is kept, and the next
  ///   access of the key tries again.
  @discardableResult
  public nonisolated func forceMigration<K: StorageKey>(for key: K) async throws -> MigrationResult {
    guard let migration = key.migration else {
      return MigrationResult(success: true, migratedCount: try await migrateVersions(of: key))
    }
    let (record, _) = try registry.find(key)
    try record.checkLocation(configuration)
    let resolved = ResolvedKey(record, try await openStores.store(of: record), of: key)
    var result = try await run(migration, of: key, resolved, isForced: true)
    result.migratedCount += try await migrateVersions(of: key)
    await remains.settle()
    return result
  }

  /// Waits until the migration of a key is done.
  /// - Returns: `false` if the caller is that migration.
  nonisolated func settle<K: StorageKey>(_ key: K, _ resolved: ResolvedKey) async throws -> Bool {
    guard let migration = key.migration else { return true }
    if MigrationScope.current(registry)?.isMigrating(MigrationTarget(resolved.record)) == true { return false }
    _ = try await run(migration, of: key, resolved, isForced: false)
    return true
  }

  /// Returns whether resolving a key would wait for its migration.
  nonisolated func mustMigrate<K: StorageKey>(_ key: K) throws -> Bool {
    guard registry.resolved(of: key.declaration ?? key.family) == nil else { return false }
    let (record, known) = try registry.find(key)
    guard known == nil, record.descriptor.hasMigration else { return false }
    return MigrationScope.current(registry)?.isMigrating(MigrationTarget(record)) != true
  }

  /// Returns whether the migration of a key would change something. Does not create the store of the key.
  nonisolated func awaitsMigration(_ record: KeyRegistry.Record) async throws -> Bool {
    guard record.obstacle == nil, let migration = record.declaredKey.migration else { return false }
    guard try record.declaredKey.awaitsResolving(by: self) else { return false }
    let target = MigrationTarget(record)
    // Older keys of each other: their migrations throw.
    if MigrationScope.current(registry)?.targets.contains(target) == true { return false }
    var previous: String?
    if let engine = try await existingStore(of: record.descriptor.domain)?.engine {
      let log = try await MigrationLog(of: record.key, in: engine)
      if let entry = log.entry(of: migration.name) { return entry.state == .copied }
      previous = log.lastVersion
    }
    let context = MigrationContext(appVersion: configuration.appVersion, previousAppVersion: previous)
    return try await MigrationScope.enter(target, migration.name, registry) {
      try await migration.shouldMigrate(using: self, context: context)
    }
  }

  private nonisolated func run<K: StorageKey>(
    _ migration: AnyStorageMigration, of key: K, _ resolved: ResolvedKey, isForced: Bool
  ) async throws -> MigrationResult {
    let target = MigrationTarget(resolved.record)
    let waiter = MigrationScope.current(registry)?.targets.last
    let limit = isForced ? nil : configuration.migrationLimit
    return try await migrations.result(of: target, for: waiter, isForced: isForced, within: limit) { [self] in
      do {
        return try await MigrationScope.enter(target, migration.name, registry) {
          try await perform(migration, of: key, resolved, isForced: isForced)
        }
      } catch {
        throw StorageError.migration(of: resolved, failedWith: error)
      }
    }
  }

  private nonisolated func perform<K: StorageKey>(
    _ migration: AnyStorageMigration, of key: K, _ resolved: ResolvedKey, isForced: Bool
  ) async throws -> MigrationResult {
    guard migration.destination == key.name else { throw MigrationError.unsupported(key: key.name) }
    while true {
      let log = try await MigrationLog(of: resolved.key, in: resolved.store.engine)
      let entry = log.entry(of: migration.name)
      if let entry, entry.state == .done, !isForced {
        // That it fails does not keep anybody from the new value.
        if entry.remains == true { try? await migration.resume(self) }
        return MigrationResult(success: true)
      }
      let context = MigrationContext(appVersion: configuration.appVersion, previousAppVersion: log.lastVersion)
      // A run that was interrupted after it had removed the older value is finished, although nothing seems to be left.
      let isDue = entry?.state == .copied || entry?.remains == true
      guard try await isDue ? true : migration.shouldMigrate(using: self, context: context) else {
        if try await recordEnd(of: migration.name, nil, resolved) { return MigrationResult(success: true) }
        continue
      }
      let result = try await migration.migrate(using: self, context: context)
      guard result.success else { throw result.errors.first ?? MigrationError.unsupported(key: key.name) }
      _ = try await recordEnd(of: migration.name, result.migratedCount, resolved)
      return result
    }
  }

  /// Records the end of a migration that has not done so itself.
  /// - Parameter count: the number of migrated values; `nil` if there was nothing to migrate.
  /// - Returns: `false` if another process has begun the migration meanwhile, which may have to be continued.
  private nonisolated func recordEnd(
    of migration: String, _ count: Int?, _ resolved: ResolvedKey
  ) async throws -> Bool {
    let engine = resolved.store.engine
    while true {
      let log = try await MigrationLog(of: resolved.key, in: engine)
      let entry = log.entry(of: migration)
      guard log.isWritable, entry?.state != .done else { return true }
      if count == nil, entry?.state == .copied { return false }
      // The interrupted run of other keys is recognized by the revision of the record.
      if count ?? 0 == 0, log.isInterrupted { return true }
      let operations = try log.operations(
        recording: migration, .done, count == nil ? .nothingToMigrate : .migrated,
        appVersion: configuration.appVersion, at: engine.clock.now())
      do {
        try await resolved.store.commit(WriteBatch(operations), [])
        return true
      } catch let error as StorageError where error.code == .preconditionFailed {
        try Task.checkCancellation()
      } catch is StorageError where count == nil {
        return true  // The key can be used although this cannot be recorded, as on a full disk.
      }
    }
  }
}

extension StorageKey {
  /// Returns whether resolving the key would wait for its migration.
  func awaitsResolving(by router: StorageRouter) throws -> Bool { try router.mustMigrate(self) }

  /// Returns the resolved key, after its migration.
  func resolved(by router: StorageRouter) async throws -> StorageRouter.ResolvedKey { try await router.resolve(self) }
}

extension StorageError {
  /// Returns the error of an access whose migration has failed.
  static func migration(of resolved: StorageRouter.ResolvedKey, failedWith error: any Error) -> any Error {
    let location = resolved.store.engine.description
    let advice = "The older value is kept, and the next access of the key tries again."
    switch error {
    case is CancellationError: return error
    case let error as StorageError:
      // These codes would tell the caller that its own key has no value, or that its own condition failed.
      let isAmbiguous = [.notFound, .preconditionFailed].contains(error.code)
      return StorageError(
        isAmbiguous ? .migrationFailed : error.code, "The key could not be migrated: \(error.message)",
        advice: "\(error.advice) \(advice)", location: error.location.isEmpty ? location : error.location,
        key: resolved.key, underlying: error.underlying)
    case let error as MigrationError:
      return StorageError(
        .migrationFailed, "The key could not be migrated: \(error.reason).",
        advice: "Correct its migration. \(advice)", location: location, key: resolved.key)
    default:
      return StorageError(
        .migrationFailed, "The key could not be migrated: its migration threw \(type(of: error)).",
        advice: "Correct its migration. \(advice)", location: location, key: resolved.key)
    }
  }
}

extension MigrationError {
  /// The error as a lower-case clause, for use inside another sentence.
  fileprivate var reason: String {
    switch self {
    case .sourceNotFound(let key): "the older key '\(key.escapingControlCharacters)' has no value"
    case .sourceUnreadable(let key, let reason):
      "the value of the older key '\(key.escapingControlCharacters)' could not be read: \(reason)"
    case .transformFailed(_, let reason): "the older value could not be converted: \(reason)"
    case .destinationFailed(_, let reason): "the new value could not be stored: \(reason)"
    case .unsupported: "the migration belongs to another key, has the key as its own older one, or did not succeed"
    }
  }
}
