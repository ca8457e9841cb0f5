import Foundation

extension StorageRouter {
  /// Sends the state of all synced keys, unless it equals the one that was sent last.
  ///
  /// Call it when the application starts and when another device becomes reachable. It is the only call that sends
  /// values with the policy ``SyncPolicy/manual``; see ``syncSnapshot()``.
  /// - Returns: Whether anything was sent.
  /// - Throws: `StorageError`: `unsupported` without a transport, `dataTooLargeForSync`, any error of reading a value,
  ///   and any error of the transport.
  @discardableResult
  public func syncRegisteredKeysIfNeeded() async throws -> Bool {
    guard let follower else { throw StorageError.noTransport }
    let isSent = try await sync.send { try await self.syncSnapshot() }
    follower.retryNow()
    return isSent
  }

  /// Waits until everything that was committed before the call, by any process, has been sent, and sends it now if it
  /// has not. This includes the keys of open stores with the policy ``SyncPolicy/automaticSmall``.
  ///
  /// Sending otherwise follows a change by itself; call this before a program ends, and in tests.
  /// - Parameter limit: the maximum time to wait, 30 s by default.
  /// - Throws: Any error of the transport, and of reading a value, after the first attempt; `StorageError`:
  ///   `unavailable` when the time is over, `unsupported` without a transport, `closed`. `CancellationError`. The
  ///   values are stored in any case, and are sent once the transport works.
  public nonisolated func waitForSync(within limit: Duration = .seconds(30)) async throws {
    guard let follower else { throw StorageError.noTransport }
    try await follower.wait(within: limit)
  }

  /// Overrides the declared sync policy of a key, persistently; `nil` removes the override. A key that exists on one
  /// kind of device only is sent if its policy is overridden. A send that is under way follows the earlier policy.
  /// - Throws: `StorageError`:
  ///   - `insecureKey` for a secret unless the policy is `never`.
  ///   - `unregisteredKey` for a key without a catalog.
  ///   - `duplicateKey` for a key of which another store has the name, too.
  ///   - `dataTooLargeForSync` when the stored value exceeds the limit for automatic sync.
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
    if (policy ?? record.declaredSyncPolicy) == .automaticSmall {
      try await refuseLargeValues(of: resolve(declaration: key))
    }
    let overrides = try await SyncPolicyOverrides(memory()).set(policy, of: record.descriptor.name)
    policyVersion += 1
    use(overrides)
    follower?.changed()
  }

  /// Returns the current sync policy of a key: the declared one, or `never` for a key that exists on one kind of device
  /// only, unless ``setSyncPolicy(_:for:)-(_,K)`` has overridden it.
  /// - Throws: `StorageError`: `unregisteredKey` or `duplicateKey` for a key that cannot be used, and the errors of
  ///   reading the overrides.
  public func syncPolicy<K: StorageKey>(for key: K) async throws -> SyncPolicy {
    try await loadSyncPolicies()
    return registry.syncPolicy(try registry.find(key).record)
  }

  private nonisolated func refuseLargeValues(of resolved: ResolvedKey) async throws {
    for entry in try await resolved.flushedEngine().entries(of: resolved.record)
    where entry.value.count > configuration.sync.maximumAutomaticSize {
      throw StorageError(
        .dataTooLargeForSync, "The value has \(entry.value.count) bytes, which exceeds the limit for automatic sync.",
        advice: "Make it smaller, or set the policy to manual. Nothing was changed.", key: entry.key)
    }
  }

  func loadSyncPolicies() async throws {
    guard try DomainLocation(configuration.stateDomain, configuration).exists(configuration) else { return use([]) }
    let version = policyVersion
    let overrides = try await SyncPolicyOverrides(memory()).load().overrides
    if version == policyVersion { use(overrides) }  // otherwise they were changed meanwhile
  }

  private func use(_ overrides: [SyncPolicyOverrides.Override]) {
    registry.setOverrides(
      overrides.reduce(into: [:]) { $0[$1.name] = SyncPolicy(rawValue: $1.policy) })
  }

  private func memory() async throws -> any StorageEngine {
    try await openStores.store(of: configuration.stateDomain).engine
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
