import Foundation

extension StorageRouter {
  /// Sends the values of all synced keys, unless they equal those that were sent last.
  ///
  /// Call it when the application starts and when another device becomes reachable.
  /// - Returns: Whether anything was sent.
  /// - Throws: `StorageError`: `unsupported` without a transport, `dataTooLargeForSync`, any error of reading a value,
  ///   and any error of the transport.
  @discardableResult
  public func syncRegisteredKeysIfNeeded() async throws -> Bool {
    guard configuration.sync.transport != nil else {
      throw StorageError(
        .unsupported, "No transport is configured.", advice: "Set StorageConfiguration.sync.transport.",
        location: "sync")
    }
    return try await sync.send { try await self.syncSnapshot() }
  }

  /// Returns the values of all synced keys, for example to reply to a request of another device. They are read one
  /// after the other, not from one state; only the members of a family are. Keys without a value are omitted, as are
  /// those that do not exist on this platform.
  /// - Throws: `StorageError` when a value cannot be read: a snapshot without it would look like its removal.
  public func syncSnapshot() async throws -> SyncSnapshot {
    try await loadSyncPolicies()
    var values: [StoreKey: Data] = [:]
    for record in registry.registered where registry.syncPolicy(record) != .never && record.obstacle == nil {
      let store = try await openStores.store(of: record.descriptor.domain)
      for entry in try await store.engine.entries(of: record) {
        try checkSize(entry.value.count, record, entry.key)
        values[entry.key] = entry.value
      }
    }
    return SyncSnapshot(values: values)
  }

  /// Overrides the declared sync policy of a key, persistently; `nil` removes the override.
  /// - Throws: `StorageError`: `insecureKey` for a secret unless the policy is `never`, `unregisteredKey` for a key
  ///   without a catalog, `duplicateKey` for a key of which another store has the name, too, `dataTooLargeForSync` when
  ///   the stored value exceeds the limit for automatic sync.
  public func setSyncPolicy<K: StorageKey>(_ policy: SyncPolicy?, for key: K) async throws {
    let (record, _) = try registry.find(key)
    guard record.catalog != nil else {
      throw StorageError(
        .unregisteredKey, "The key is in no catalog, and only keys of catalogs are synced.",
        advice: "Add it to the catalog of its owner.", key: record.key)
    }
    guard policy == nil || policy == .never || !record.descriptor.isSensitive else {
      throw StorageError(
        .insecureKey, "The key is a secret, and would be sent to other devices unprotected.",
        advice: "Leave its policy at never. Nothing was changed.", key: record.key)
    }
    if policy != nil, policy != .never, let other = registry.namesakes(of: record).first {
      throw StorageError(
        .duplicateKey,
        "A synced value is identified by its name, and declarations in \(record.descriptor.domain) and in "
          + "\(other.descriptor.domain) share one.",
        advice: "Give one of them another name. Nothing was changed.", key: record.key)
    }
    if (policy ?? record.descriptor.syncPolicy) == .automaticSmall {
      try await refuseLargeValues(of: resolve(declaration: key))
    }
    let overrides = try await SyncPolicyOverrides(memory()).set(policy, of: record.descriptor.name)
    policyVersion += 1
    use(overrides)
  }

  /// Returns the current sync policy of a key: the declared one, unless ``setSyncPolicy(_:for:)-(_,K)`` has
  /// overridden it.
  /// - Throws: `StorageError`: `unregisteredKey` or `duplicateKey` for a key that cannot be used, and the errors of
  ///   reading the overrides.
  public func syncPolicy<K: StorageKey>(for key: K) async throws -> SyncPolicy {
    try await loadSyncPolicies()
    return registry.syncPolicy(try registry.find(key).record)
  }

  private nonisolated func refuseLargeValues(of resolved: ResolvedKey) async throws {
    for entry in try await resolved.store.engine.entries(of: resolved.record)
    where entry.value.count > configuration.sync.maximumAutomaticSize {
      throw StorageError(
        .dataTooLargeForSync, "The value has \(entry.value.count) bytes, which exceeds the limit for automatic sync.",
        advice: "Make it smaller, or set the policy to manual. Nothing was changed.", key: entry.key)
    }
  }

  func loadSyncPolicies() async throws {
    guard try DomainLocation(configuration.memory, configuration).exists(configuration) else { return use([]) }
    let version = policyVersion
    let overrides = try await SyncPolicyOverrides(memory()).load().overrides
    if version == policyVersion { use(overrides) }  // otherwise they were changed meanwhile
  }

  private func use(_ overrides: [SyncPolicyOverrides.Override]) {
    registry.setOverrides(
      overrides.reduce(into: [:]) { $0[$1.name] = SyncPolicy(rawValue: $1.policy) })
  }

  private func memory() async throws -> any StorageEngine {
    try await openStores.store(of: configuration.memory).engine
  }
}

extension StorageEngine {
  /// Returns what is stored under a declaration: one value, or all members of a family, from one state.
  fileprivate func entries(of record: KeyRegistry.Record) async throws -> [StoreEntry] {
    guard record.isFamily else { return try await entry(record.key).map { [$0] } ?? [] }
    return try await withSnapshot { snapshot in
      var entries: [StoreEntry] = []
      try await snapshot.forEach(prefix: record.key) { entries.append($0) }
      return entries
    }
  }
}
