import Foundation

extension StorageRouter {
  /// Sends the values of all keys that are synced, unless the other side was sent the same before (document 4).
  ///
  /// Call it when the application starts and when another device comes into reach.
  /// - Returns: Whether anything was sent.
  /// - Throws: `StorageError`: `unsupported` without a transport, `dataTooLargeForSync`, what reading a value throws,
  ///   and what the transport throws.
  @discardableResult
  public func syncRegisteredKeysIfNeeded() async throws -> Bool {
    guard configuration.sync.transport != nil else {
      throw StorageError(
        .unsupported, "There is nobody to send values to.", advice: "Set StorageConfiguration.sync.transport.",
        backend: "sync")
    }
    return try await sync.send { try await self.syncSnapshot() }
  }

  /// The values of all keys that are synced, to answer another device that asks for them (document 4). They are read
  /// one after the other. Keys without a value are not in it, and neither are those that do not exist on this platform.
  /// - Throws: `StorageError` when a value cannot be read: a snapshot without it would look like its removal.
  public func syncSnapshot() async throws -> SyncSnapshot {
    try await loadSyncPolicies()
    var values: [String: Data] = [:]
    for record in registry.registered where registry.syncPolicy(record) != .never && record.obstacle == nil {
      let store = try await homes.store(at: DomainHome(record.descriptor.domain, configuration))
      guard let entry = try await store.engine.entry(record.key) else { continue }
      try checkSize(entry.value.count, record)
      values[record.descriptor.name] = entry.value
    }
    return SyncSnapshot(values: values)
  }

  /// Lets a key be synced otherwise than it says, from now on and after a restart; `nil` lets it be as it says.
  /// - Throws: `StorageError`: `insecureKey` for a secret, `unregisteredKey` for a key that no catalog has.
  public func setSyncPolicy<K: StorageKey>(_ policy: SyncPolicy?, for key: K) async throws {
    let (record, _) = try registry.find(key)
    guard record.catalog != nil else {
      throw StorageError(
        .unregisteredKey, "No catalog has the key, and only keys of catalogs are synced.",
        advice: "Add it to the catalog of its owner.", key: record.key)
    }
    guard policy == nil || policy == .never || !record.descriptor.isSensitive else {
      throw StorageError(
        .insecureKey, "The key is a secret, and would be sent to other devices as it is.",
        advice: "Leave its policy at never. Nothing was changed.", key: record.key)
    }
    if policy == .automaticSmall, let size = try await bytes(of: key)?.count,
      size > configuration.sync.maximumAutomaticSize
    {
      throw StorageError(
        .dataTooLargeForSync, "The value has \(size) bytes, which is too much to be synced by itself.",
        advice: "Make it smaller, or set the policy to manual. Nothing was changed.", key: record.key)
    }
    let overrides = try await SyncPolicyOverrides(memory()).set(policy, of: record.descriptor.name)
    policyVersion += 1
    use(overrides)
  }

  /// How a key is synced now: as it says, unless ``setSyncPolicy(_:for:)`` has said otherwise.
  public func syncPolicy<K: StorageKey>(for key: K) async throws -> SyncPolicy {
    try await loadSyncPolicies()
    return registry.syncPolicy(try registry.find(key).record)
  }

  func loadSyncPolicies() async throws {
    guard try DomainHome(configuration.memory, configuration).exists(configuration) else { return use([]) }
    let version = policyVersion
    let overrides = try await SyncPolicyOverrides(memory()).load().overrides
    if version == policyVersion { use(overrides) }  // else somebody has changed them meanwhile
  }

  private func use(_ overrides: [SyncPolicyOverrides.Override]) {
    registry.setOverrides(
      overrides.reduce(into: [:]) { $0[$1.name] = SyncPolicy(rawValue: $1.policy) })
  }

  private func memory() async throws -> any StorageEngine {
    try await homes.store(at: DomainHome(configuration.memory, configuration)).engine
  }
}
