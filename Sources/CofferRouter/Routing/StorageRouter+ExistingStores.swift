import Coffer
import CofferCore
import Foundation

extension StorageRouter {
  /// Returns the store of a domain, or `nil` if there is none. Creates no store, except the journal beside a keyring,
  /// which may hold secrets that were stored with another data directory and must therefore be asked.
  nonisolated func existingStore(of domain: StorageDomain) async throws -> TypedStore? {
    try await mayExist(domain) ? openStores.store(of: domain) : nil
  }

  /// Returns whether the store of a domain is open or may hold values.
  nonisolated func mayExist(_ domain: StorageDomain) async throws -> Bool {
    let location = try DomainLocation(domain, configuration)
    if openStores.locations.contains(location) { return true }
    if configuration.isInMemory, configuration.engine(at: location) == nil { return false }
    return try await location.mayHoldValues(configuration.opening(domain))
  }

  /// A store that is not opened for a question about it.
  enum Presence {
    case open(TypedStore)
    /// The store may exist, but is not open.
    case closed
    case missing
  }

  /// Returns the store of a domain if it is open.
  nonisolated func presence(of domain: StorageDomain) throws -> Presence {
    let location = try DomainLocation(domain, configuration)
    if let store = openStores.open.first(where: { $0.location == location })?.store { return .open(store) }
    guard configuration.engine(at: location) == nil else { return .closed }
    return try configuration.isInMemory || !location.exists(configuration) ? .missing : .closed
  }

  /// Returns the keys under which an engine holds values of a declaration.
  /// - Throws: `StorageError` when it cannot be determined. A damaged value is a value.
  nonisolated func storedKeys(of record: KeyRegistry.Record, in engine: any StorageEngine) async throws -> [KeyName] {
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

  fileprivate func mayHoldValues(_ configuration: StorageConfiguration) async throws -> Bool {
    guard case .store(let location) = self, !configuration.isInMemory, configuration.engine(at: self) == nil else {
      return try exists(configuration)
    }
    return try await location.mayHoldValues(configuration.stores)
  }
}

extension StoreLocation {
  fileprivate func mayHoldValues(_ options: StoreOptions) async throws -> Bool {
    switch self {
    case .keychain: return true
    case .chain:
      let choice = try await secretChain(options)?.choose(configuration: options.keychain)
      guard case .sealed(let file, _)? = choice?.link else { return true }
      return try StoreLocation.sealed(path: file.path).exists(options)
    default: return try exists(options)
    }
  }
}
