public import Foundation

/// What an application keeps on this machine: every declared key with what is stored of it, and what is stored that
/// nobody has declared.
///
/// ```swift
/// let report = try await router.auditReport()
/// try report.html.write(to: page)
/// ```
///
/// It holds names, sizes and dates, and no value.
public struct AuditReport: Codable, Hashable, Sendable {
  /// What is stored of a key.
  public enum State: Codable, Hashable, Sendable {
    /// A value: its size in bytes, where its home tells it without reading, and when it was last changed, where its
    /// journal still knows.
    case present(size: Int?, changed: Date?)
    /// Proven to be none.
    case absent
    /// Nobody can tell.
    case unavailable(reason: String)
  }

  /// A declared key.
  public struct Entry: Codable, Hashable, Sendable {
    /// Its declaration.
    public var key: StorageManifest.Entry
    /// Its home, with its place.
    public var home: String
    /// What is stored of it.
    public var state: State
  }

  /// A stored value that no catalog has.
  public struct Stranger: Codable, Hashable, Sendable {
    /// Its name.
    public var name: String
    /// Its home.
    public var home: String
    /// Its size in bytes, where its home tells it without reading.
    public var size: Int?
  }

  /// When it was made.
  public var date: Date
  /// The application.
  public var application: String
  /// The catalogs.
  public var catalogs: [String]
  /// The declared keys, in the order of their names.
  public var entries: [Entry]
  /// What nobody has declared, in the order of their homes and names.
  public var strangers: [Stranger]
  /// What the report could not find out, in sentences. Empty for a whole one.
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
  /// Looks at every registered key and at what else is in their homes. Opens the homes that are there, makes none and
  /// reads no value where sizes are told without.
  public func auditReport(at date: Date = Date()) async -> AuditReport {
    var remarks: [String] = []
    do { try await loadSyncPolicies() } catch {
      remarks.append("Changed sync policies could not be read; the declared ones are shown. \(error)")
    }
    var domains: [StoreKey: StorageDomain] = [:]
    for record in registry.registered { domains[record.key] = record.descriptor.domain }
    return await AuditReport(of: declarations(), at: date, remarks: remarks) { [domains, configuration, homes] entry in
      guard let domain = domains[try StoreKey(entry.name)] else { return nil }
      let place = try DomainHome(domain, configuration)
      guard try place.exists(configuration) else { return nil }
      return try await homes.store(at: place).engine
    }
  }
}

extension AuditReport {
  /// - Parameter open: the engine of a key's home; `nil` where nobody has used it yet.
  package init(
    of manifest: StorageManifest, at date: Date, remarks: [String] = [],
    open: (StorageManifest.Entry) async throws -> (any StorageEngine)?
  ) async {
    self.date = date
    application = manifest.application
    catalogs = manifest.catalogs
    entries = []
    strangers = []
    self.remarks = remarks
    var homes: [ExactText: HomeContent] = [:]
    for entry in manifest.entries {
      let name = ExactText(entry.store ?? entry.domain)
      if homes[name] == nil { homes[name] = await HomeContent { try await open(entry) } }
      let content = homes[name]
      let state = entry.obstacle.map { State.unavailable(reason: $0) } ?? content?.state(of: entry.name) ?? .absent
      entries.append(Entry(key: entry, home: content?.description ?? name.description, state: state))
    }
    let declared = Dictionary(grouping: manifest.entries) { ExactText($0.store ?? $0.domain) }
    for (home, content) in homes.sorted(by: { $0.key.description < $1.key.description }) {
      let own = Set((declared[home] ?? []).compactMap { try? StoreKey($0.name) })
      strangers += content.strangers(besides: own)
    }
  }
}
