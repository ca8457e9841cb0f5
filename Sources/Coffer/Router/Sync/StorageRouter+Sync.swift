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
  /// after the other, not from one state. Keys without a value are omitted, as are those that do not exist on this
  /// platform.
  /// - Throws: `StorageError` when a value cannot be read: a snapshot without it would look like its removal.
  public func syncSnapshot() async throws -> SyncSnapshot {
    try await loadSyncPolicies()
    var values: [String: Data] = [:]
    for record in registry.registered where registry.syncPolicy(record) != .never && record.obstacle == nil {
      let store = try await openStores.store(at: DomainLocation(record.descriptor.domain, configuration))
      guard let entry = try await store.engine.entry(record.key) else { continue }
      try checkSize(entry.value.count, record)
      values[record.descriptor.name] = entry.value
    }
    return SyncSnapshot(values: values)
  }

  /// Overrides the declared sync policy of a key, persistently; `nil` removes the override.
  /// - Throws: `StorageError`: `insecureKey` for a secret unless the policy is `never`, `unregisteredKey` for a key
  ///   without a catalog, `dataTooLargeForSync` when the stored value exceeds the limit for automatic sync.
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
    if policy == .automaticSmall, let size = try await bytes(of: key)?.count,
      size > configuration.sync.maximumAutomaticSize
    {
      throw StorageError(
        .dataTooLargeForSync, "The value has \(size) bytes, which exceeds the limit for automatic sync.",
        advice: "Make it smaller, or set the policy to manual. Nothing was changed.", key: record.key)
    }
    let overrides = try await SyncPolicyOverrides(memory()).set(policy, of: record.descriptor.name)
    policyVersion += 1
    use(overrides)
  }

  /// Returns the current sync policy of a key: the declared one, unless ``setSyncPolicy(_:for:)`` has overridden it.
  /// - Throws: `StorageError`: `unregisteredKey` or `duplicateKey` for a key that cannot be used, and the errors of
  ///   reading the overrides.
  public func syncPolicy<K: StorageKey>(for key: K) async throws -> SyncPolicy {
    try await loadSyncPolicies()
    return registry.syncPolicy(try registry.find(key).record)
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
    try await openStores.store(at: DomainLocation(configuration.memory, configuration)).engine
  }
}
