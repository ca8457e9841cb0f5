import Coffer
public import Foundation

/// A report of what an application stores on this machine: every declared key with the state of its value, and stored
/// values that are not declared.
///
/// ```swift
/// let report = try await router.auditReport()
/// try report.html.write(to: page)
/// ```
///
/// The report contains names, sizes and dates, but no values.
public struct AuditReport: Codable, Hashable, Sendable {
  /// The state of a key's value.
  public enum State: Codable, Hashable, Sendable {
    /// There is a value. `size` is in bytes, or `nil` if the store cannot report it without reading the value.
    /// `changed` is the date of the last change, or `nil` if the journal no longer has it.
    case present(size: Int?, changed: Date?)
    /// There are values of the family: their number, their total size in bytes, or `nil` as above, and the date of the
    /// newest change that the journal still has.
    case members(count: Int, size: Int?, changed: Date?)
    /// The value is proven absent, or all of the family are.
    case absent
    /// It cannot be determined whether there is a value.
    case unavailable(reason: String)
  }

  /// A declared key or family and the state of what is stored under it.
  public struct Entry: Codable, Hashable, Sendable {
    /// The declaration of the key.
    public var key: StorageManifest.Entry
    /// The store of the key, as its location.
    public var store: String
    /// The state of the value.
    public var state: State
    /// The state of the key's migration; `nil` if it has none, or if the store could not be read.
    public var migration: MigrationState?
    /// The number of stored values by their version, for a key with versions; 0 is the version of values without a
    /// mark, which were stored before the key had versions. `nil` for other keys, or if the store could not be read.
    public var versions: [Int: Int]?
  }

  /// The date of the report.
  public var date: Date
  /// The name of the application.
  public var application: String
  /// The names of the registered catalogs, in the order of their registration.
  public var catalogs: [String]
  /// The declared keys and families, in the order of their names.
  public var entries: [Entry]
  /// The undeclared values, in the order of their stores and names; of many with a common beginning, one element.
  public var undeclared: [UndeclaredValues]
  /// How the stores are encrypted by this library, in the order of their names; those without encryption are omitted.
  public var encryption: [StoreEncryption]
  /// Sentences that state what the report could not determine. Empty if the report is complete.
  public var remarks: [String]

  /// The report as JSON.
  public var encoded: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      encoder.dateEncodingStrategy = .iso8601
      return try encoder.encode(self)
    }
  }
}

extension StorageRouter {
  /// Returns a report of every registered key and of undeclared values in their stores. Opens the existing stores,
  /// creates none, and reads no values where sizes are available without reading. A keyring that this user has not
  /// opened before is asked for its keys; if it does not answer, the state of its keys is `unavailable`.
  /// - Parameters:
  ///   - date: the date of the report.
  ///   - foldsUndeclared: whether many undeclared values whose names have a common beginning are one element of the
  ///     report, so that it has at most 100 for each store; `true` by default.
  public func auditReport(at date: Date = Date(), foldsUndeclared: Bool = true) async -> AuditReport {
    var remarks: [String] = []
    do { try await loadSyncPolicies() } catch {
      remarks.append("Changed sync policies could not be read; the declared ones are shown. \(error)")
    }
    let records = registry.registered
    let manifest = declarations(of: records)
    var domains: [ExactText: StorageDomain] = [:]
    for (record, entry) in zip(records, manifest.entries) { domains[entry.storeName] = record.descriptor.domain }
    return await AuditReport(of: manifest, at: date, remarks: remarks, foldsUndeclared: foldsUndeclared) {
      [domains, configuration, openStores] entry in
      guard let domain = domains[entry.storeName] else { return .missing }
      return try await DomainLocation(domain, configuration).audited(configuration.opening(domain)) {
        try await openStores.store(of: domain).engine
      }
    }
  }
}

extension AuditReport {
  /// Creates the report of a manifest.
  /// - Parameter open: opens a key's store, or lists it in another way. If it throws, the state of its keys is unknown.
  package init(
    of manifest: StorageManifest, at date: Date, remarks: [String] = [], foldsUndeclared: Bool = true,
    open: (StorageManifest.Entry) async throws -> AuditedStore
  ) async {
    self.date = date
    application = manifest.application
    catalogs = manifest.catalogs
    entries = []
    undeclared = []
    encryption = []
    self.remarks = remarks
    var stores: [ExactText: StoreContent] = [:]
    for entry in manifest.entries {
      let name = entry.storeName
      if stores[name] == nil { stores[name] = await StoreContent { try await open(entry) } }
      let content = stores[name]
      let state = entry.obstacle.map { State.unavailable(reason: $0) } ?? content?.state(of: entry) ?? .absent
      let migration = await content?.migrationState(of: entry)
      entries.append(
        Entry(
          key: entry, store: content?.description ?? name.description, state: state, migration: migration,
          versions: content?.versions(of: entry)))
    }
    let declared = Dictionary(grouping: manifest.entries, by: \.storeName)
    for (store, content) in stores.sorted(by: { $0.key.description < $1.key.description }) {
      switch content.encryption {
      case .success(let found): encryption += found.map { [$0] } ?? []
      case .failure(let error): self.remarks.append("How values are encrypted could not be read. \(error.message)")
      }
      let (values, name) = (content.undeclared(besides: declared[store] ?? []), content.description ?? "")
      undeclared +=
        foldsUndeclared
        ? UndeclaredFolding.rows(values, store: name)
        : values.map { UndeclaredValues([$0], name: $0.key.string, store: name) }
    }
  }
}

extension StorageManifest.Entry {
  /// The store of the key, or the domain where no other process can open the store.
  fileprivate var storeName: ExactText { ExactText(store ?? domain) }
}
