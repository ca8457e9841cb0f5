import CofferCore

extension StorageRouter {
  /// Returns the store of a domain, or `nil` if there is none. Creates no store, except the journal beside a keyring,
  /// which may hold secrets that were stored with another data directory and must therefore be asked.
  nonisolated func existingStore(of domain: StorageDomain) async throws -> TypedStore? {
    let location = try DomainLocation(domain, configuration)
    if !openStores.locations.contains(location) {
      let isLost = configuration.isInMemory && configuration.engine(at: location) == nil
      guard !isLost, try location.mayHoldValues(configuration) else { return nil }
    }
    return try await openStores.store(of: domain)
  }

  /// Returns the keys under which an engine holds values of a declaration.
  /// - Throws: `StorageError` when it cannot be determined. A damaged value is a value.
  nonisolated func storedKeys(of record: KeyRegistry.Record, in engine: any StorageEngine) async throws -> [StoreKey] {
    if record.isFamily { return try await engine.summaries(prefix: record.key).map(\.key) }
    do { return try await engine.contains(record.key) ? [record.key] : [] } catch let error as StorageError
      where error.code == .damaged && error.key == record.key
    { return [record.key] }
  }

  /// Groups keys by their stores, in the order of the stores' names; each group has one of the store's domains. If the
  /// domain has no location, the group has the reason instead.
  nonisolated func groupedByStore(
    _ records: [KeyRegistry.Record]
  ) -> [(name: String, domain: Result<StorageDomain, StorageError>, records: [KeyRegistry.Record])] {
    var groups: [DomainLocation: [KeyRegistry.Record]] = [:]
    var refused: [StorageDomain: (StorageError, [KeyRegistry.Record])] = [:]
    for record in records {
      let domain = record.descriptor.domain
      do { groups[try DomainLocation(domain, configuration), default: []].append(record) } catch {
        refused[domain, default: (StoredError.storage(error), [])].1.append(record)
      }
    }
    let all =
      groups.map { ($0.name, Result<StorageDomain, StorageError>.success($1[0].descriptor.domain), $1) }
      + refused.map { ($0.description, .failure($1.0), $1.1) }
    return all.sorted { $0.0 < $1.0 }
  }
}

extension DomainLocation {
  /// The location as text, for reports.
  var name: String {
    switch self {
    case .store(let location): location.description.escapingControlCharacters
    case .engine(let name): "engine \(name.description.escapingControlCharacters)"
    }
  }

  fileprivate func mayHoldValues(_ configuration: StorageConfiguration) throws -> Bool {
    if case .store(let location) = self, location.asksKeyring { return true }
    return try exists(configuration)
  }
}

extension StoreLocation {
  fileprivate var asksKeyring: Bool {
    switch self {
    case .keychain: true
    case .chain(let links): links.contains(where: \.asksKeyring)
    default: false
    }
  }
}
