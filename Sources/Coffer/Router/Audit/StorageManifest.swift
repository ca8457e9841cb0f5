public import Foundation

/// The declarations of an application's keys as a file: what `coffer audit` reads.
///
/// ```swift
/// try await router.manifest().encoded.write(to: URL(fileURLWithPath: "shop.coffer-keys.json"))
/// // $ coffer audit shop.coffer-keys.json --html report.html
/// ```
public struct StorageManifest: Codable, Hashable, Sendable {
  /// One key.
  public struct Entry: Codable, Hashable, Sendable {
    /// The name of the value in its home.
    public var name: String
    /// The name of the value's type.
    public var type: String
    /// The catalog that has it.
    public var catalog: String
    /// Where it lives, in words.
    public var domain: String
    /// Its home as the `coffer` command calls it; `nil` for what only the application itself can open.
    public var store: String?
    /// How it is secured, in words.
    public var security: String
    /// What makes bytes of it.
    public var serializer: String
    /// Whose it is.
    public var owner: String
    /// What it is for.
    public var description: String
    /// On which platforms it exists.
    public var availability: String
    /// Whether it is sent to other devices.
    public var sync: String
    /// What the declaration says of that, where somebody has said otherwise since.
    public var declaredSync: String?
    /// Whether reading gives a default while there is no value.
    public var hasDefault: Bool
    /// Whether something brings an older form of it.
    public var hasMigration: Bool
    /// Whether it is a secret.
    public var isSensitive: Bool
    /// Why it cannot be used on this machine, if it cannot.
    public var obstacle: String?
  }

  /// The version of this format.
  public var format = 1
  /// The application.
  public var application: String
  /// The catalogs in the order of their registration.
  public var catalogs: [String]
  /// The keys in the order of their names.
  public var entries: [Entry]

  /// The manifest as JSON.
  public var encoded: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return try encoder.encode(self)
    }
  }

  /// Reads a manifest.
  /// - Throws: `StorageError`: `decodingFailed` for what is none, `newerFormat` for one of a newer version.
  public init(decoding data: Data) throws {
    struct Format: Decodable { let format: Int }
    do {
      guard try JSONDecoder().decode(Format.self, from: data).format <= 1 else {
        throw StorageError(.newerFormat, "The list of keys was written by a newer version.", advice: "Update coffer.")
      }
      self = try JSONDecoder().decode(StorageManifest.self, from: data)
    } catch let error as StorageError {
      throw error
    } catch {
      throw StorageError(
        .decodingFailed, "This is no list of keys.",
        advice: "An application writes one: try await router.manifest().encoded.write(to: file).")
    }
  }

  init(application: String, catalogs: [String], entries: [Entry]) {
    self.application = application
    self.catalogs = catalogs
    self.entries = entries
  }
}

extension StorageRouter {
  /// The declarations of all registered keys, for `coffer audit`, with what was said otherwise of their sync policies.
  /// - Throws: `StorageError` when what was said otherwise cannot be read.
  public func manifest() async throws -> StorageManifest {
    try await loadSyncPolicies()
    return declarations()
  }

  nonisolated func declarations() -> StorageManifest {
    StorageManifest(
      application: configuration.applicationName, catalogs: registry.catalogs.map(\.name),
      entries: registry.registered.map { record in
        let key = record.descriptor
        let (place, problem) = home(of: key.domain)
        let sync = registry.syncPolicy(record)
        return StorageManifest.Entry(
          name: key.name, type: key.valueType, catalog: record.catalog ?? "", domain: key.domain.description,
          store: place.flatMap(address), security: key.security.description, serializer: key.serializer,
          owner: key.owner,
          description: key.description, availability: key.availability.rawValue, sync: sync.rawValue,
          declaredSync: sync == key.syncPolicy ? nil : key.syncPolicy.rawValue, hasDefault: key.hasDefault,
          hasMigration: key.hasMigration, isSensitive: key.isSensitive,
          obstacle: (record.obstacle ?? problem)?.message)
      })
  }

  /// A home as the command calls it, also where the application opens it itself.
  private nonisolated func address(of place: DomainHome) -> String? {
    switch place {
    case .store(.memory): nil  // Only this process has it.
    case .store(let location): location.description
    case .engine(let name): configuration.engines[name.description]?.as(SQLiteEngine.self).map { "sqlite:\($0.path)" }
    }
  }

  private nonisolated func home(of domain: StorageDomain) -> (DomainHome?, StorageError?) {
    do { return (try DomainHome(domain, configuration), nil) } catch { return (nil, error as? StorageError) }
  }
}
