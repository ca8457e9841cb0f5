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
    /// The value is proven absent.
    case absent
    /// It cannot be determined whether there is a value.
    case unavailable(reason: String)
  }

  /// A declared key and the state of its value.
  public struct Entry: Codable, Hashable, Sendable {
    /// The declaration of the key.
    public var key: StorageManifest.Entry
    /// The store of the key, as its location.
    public var store: String
    /// The state of the value.
    public var state: State
  }

  /// A stored value that is in no catalog.
  public struct UndeclaredValue: Codable, Hashable, Sendable {
    /// The name of the value.
    public var name: String
    /// The store of the value, as its location.
    public var store: String
    /// The size in bytes, or `nil` if the store cannot report it without reading the value.
    public var size: Int?
  }

  /// The date of the report.
  public var date: Date
  /// The name of the application.
  public var application: String
  /// The names of the registered catalogs, in the order of their registration.
  public var catalogs: [String]
  /// The declared keys, in the order of their names.
  public var entries: [Entry]
  /// The undeclared values, in the order of their stores and names.
  public var undeclared: [UndeclaredValue]
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
  /// creates none, and reads no values where sizes are available without reading.
  public func auditReport(at date: Date = Date()) async -> AuditReport {
    var remarks: [String] = []
    do { try await loadSyncPolicies() } catch {
      remarks.append("Changed sync policies could not be read; the declared ones are shown. \(error)")
    }
    var domains: [StoreKey: StorageDomain] = [:]
    for record in registry.registered { domains[record.key] = record.descriptor.domain }
    return await AuditReport(of: declarations(), at: date, remarks: remarks) {
      [domains, configuration, openStores] entry in
      guard let domain = domains[try StoreKey(entry.name)] else { return nil }
      let location = try DomainLocation(domain, configuration)
      guard try location.exists(configuration) else { return nil }
      return try await openStores.store(at: location).engine
    }
  }
}

extension AuditReport {
  /// Creates the report of a manifest.
  /// - Parameter open: returns the engine of a key's store, or `nil` if the store does not exist.
  package init(
    of manifest: StorageManifest, at date: Date, remarks: [String] = [],
    open: (StorageManifest.Entry) async throws -> (any StorageEngine)?
  ) async {
    self.date = date
    application = manifest.application
    catalogs = manifest.catalogs
    entries = []
    undeclared = []
    self.remarks = remarks
    var stores: [ExactText: StoreContent] = [:]
    for entry in manifest.entries {
      let name = ExactText(entry.store ?? entry.domain)
      if stores[name] == nil { stores[name] = await StoreContent { try await open(entry) } }
      let content = stores[name]
      let state = entry.obstacle.map { State.unavailable(reason: $0) } ?? content?.state(of: entry.name) ?? .absent
      entries.append(Entry(key: entry, store: content?.description ?? name.description, state: state))
    }
    let declared = Dictionary(grouping: manifest.entries) { ExactText($0.store ?? $0.domain) }
    for (store, content) in stores.sorted(by: { $0.key.description < $1.key.description }) {
      let own = Set((declared[store] ?? []).compactMap { try? StoreKey($0.name) })
      undeclared += content.undeclared(besides: own)
    }
  }
}
