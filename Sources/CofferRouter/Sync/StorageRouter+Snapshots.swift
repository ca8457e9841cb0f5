import Coffer

/// Reading the state of synced keys.
extension StorageRouter {
  /// Returns the state of all synced keys, for example to reply to a request of another device. It creates no store:
  /// the keys of one that does not exist are absent. Keys that do not exist on this platform are not included.
  ///
  /// The keys of each store are read from one state, if its engine has snapshots. Values with the policy
  /// ``SyncPolicy/manual`` are repeated by later automatic sends as they are now.
  /// - Throws: `StorageError` when a value cannot be read, and `dataTooLargeForSync`.
  public func syncSnapshot() async throws -> SyncSnapshot {
    try await loadSyncPolicies()
    requests += 1
    let request = requests
    var snapshot = SyncSnapshot()
    var manual: [KeyName: SyncSnapshot] = [:]
    let synced = synced { $0 != .never }
    // The older value of a key must not be sent as absent.
    for record in synced where try await awaitsMigration(record) {
      _ = try await record.declaredKey.resolved(by: self)
    }
    for group in groupedByStore(synced) {
      let domain = try group.domain.get()
      for (record, part) in await parts(of: group.records, in: try await existingStore(of: domain)) {
        let part = try part.get()
        snapshot.add(part)
        if registry.syncPolicy(record) == .manual { manual[record.key] = part }
      }
    }
    if request > latestRequest { (latestRequest, requested) = (request, manual) }
    return snapshot
  }

  /// Returns the state of the automatic keys of open stores, and the manual values as they were last requested. Opens
  /// no store: an existing one that is not open is not included, and neither is a key that cannot be read.
  /// - Returns: The state, and the first failure.
  /// - Throws: `StorageError` when the overrides of sync policies cannot be read.
  func automaticSnapshot() async throws -> (SyncSnapshot, failure: (any Error)?) {
    let stateLocation = try? DomainLocation(configuration.stateDomain, configuration)
    if let stateLocation, openStores.locations.contains(stateLocation) { try await loadSyncPolicies() }
    // A key that may have an older value only is not included: it is sent once it was used.
    let automatic = try synced { $0 == .automaticSmall }.filter { try !$0.declaredKey.awaitsResolving(by: self) }
    let locations = Set(automatic.map(\.location))
    for (location, store) in openStores.open where location == stateLocation || locations.contains(.located(location)) {
      follower?.follow(location, store.engine)
    }
    var snapshot = SyncSnapshot()
    var failure: (any Error)?
    for group in groupedByStore(automatic) {
      do {
        let store: TypedStore?
        switch try presence(of: try group.domain.get()) {
        case .open(let open): store = open
        case .missing: store = nil
        case .closed: continue
        }
        for (_, part) in await parts(of: group.records, in: store) {
          do { snapshot.add(try part.get()) } catch { failure = failure ?? error }
        }
      } catch { failure = failure ?? error }
    }
    for record in synced({ $0 == .manual }) { requested[record.key].map { snapshot.add($0) } }
    return (snapshot, failure)
  }

  /// Returns the registered keys of this platform whose current sync policy meets a condition.
  private func synced(_ condition: (SyncPolicy) -> Bool) -> [KeyRegistry.Record] {
    registry.registered.filter { $0.obstacle == nil && condition(registry.syncPolicy($0)) }
  }

  /// Returns what a snapshot says about each key; without a store, all are absent.
  private nonisolated func parts(
    of records: [KeyRegistry.Record], in store: TypedStore?
  ) async -> [(KeyRegistry.Record, Result<SyncSnapshot, any Error>)] {
    guard let engine = store?.engine else { return records.map { ($0, .success(SyncSnapshot($0, []))) } }
    do {
      guard engine.capabilities.contains(.snapshots) else {
        var parts: [(KeyRegistry.Record, Result<SyncSnapshot, any Error>)] = []
        for record in records { parts.append((record, await part(record) { try await engine.entry($0) })) }
        return parts
      }
      return try await engine.withSnapshot { state in
        var parts: [(KeyRegistry.Record, Result<SyncSnapshot, any Error>)] = []
        for record in records {
          parts.append((record, await part(record, of: state) { try await state.entries([$0])[0] }))
        }
        return parts
      }
    } catch { return records.map { ($0, .failure(error)) } }
  }

  private nonisolated func part(
    _ record: KeyRegistry.Record, of state: (any StorageSnapshot)? = nil,
    read: (KeyName) async throws -> StoreEntry?
  ) async -> Result<SyncSnapshot, any Error> {
    do {
      var entries: [StoreEntry] = []
      if !record.isFamily {
        if let entry = try await read(record.key) { entries = [entry] }
      } else if let state {
        try await state.forEach(prefix: record.key) { entries.append($0) }
      } else {
        throw StorageError.unsupported(
          "snapshots, from which the members of a family are sent", advice: "Give the family a policy of never.",
          location: "sync")
      }
      for entry in entries { try checkSize(entry.value.count, record, entry.key) }
      return .success(SyncSnapshot(record, entries))
    } catch { return .failure(error) }
  }
}

extension SyncSnapshot {
  /// Creates what a snapshot says about one declaration, given its stored entries.
  fileprivate init(_ record: KeyRegistry.Record, _ entries: [StoreEntry]) {
    self.init(families: record.isFamily ? [record.key] : [])
    for entry in entries { values[entry.key] = Value(entry.value, attributes: entry.attributes) }
    if !record.isFamily, entries.isEmpty { absent = [record.key] }
  }
}
