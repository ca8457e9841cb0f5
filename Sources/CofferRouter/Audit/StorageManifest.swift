import Coffer
import CofferFiles
public import Foundation

/// The declarations of an application's keys, as read by `coffer audit`.
///
/// ```swift
/// try await router.manifest().encoded.write(to: URL(fileURLWithPath: "shop.coffer-keys.json"))
/// // $ coffer audit shop.coffer-keys.json --html report.html
/// ```
public struct StorageManifest: Codable, Hashable, Sendable {
  /// The declaration of one key, or of one family of keys.
  public struct Entry: Codable, Hashable, Sendable {
    /// The name of the value in its store; of a family, the start of its members' names.
    public var name: String
    /// The name of the type of the ids if the entry is a ``KeyFamily``, otherwise `nil`.
    public var family: String?
    /// The name of the value's type.
    public var type: String
    /// The name of the key's catalog.
    public var catalog: String
    /// The description of the key's ``StorageDomain``.
    public var domain: String
    /// The location of the key's store for the `coffer` command; `nil` if only the application itself can open it.
    public var store: String?
    /// The description of the key's ``SecurityPolicy``.
    public var security: String
    /// The source of the key that encrypts the value, such as `the desktop's keyring`; `nil` if it is not encrypted.
    public var keySource: String?
    /// The name of the key's serializer.
    public var serializer: String
    /// The part of the application that owns the key.
    public var owner: String
    /// The purpose of the value.
    public var description: String
    /// The raw value of the key's ``PlatformAvailability``.
    public var availability: String
    /// The raw value of the current ``SyncPolicy``.
    public var sync: String
    /// The raw value of the declared sync policy if another one is in effect, since it was overridden or since the key
    /// exists on one kind of device only; otherwise `nil`.
    public var declaredSync: String?
    /// The time after each write from which the value is absent, in seconds; `nil` for a value that does not expire.
    public var lifetime: Double?
    /// Whether the key has a default.
    public var hasDefault: Bool
    /// Whether the key has a migration.
    public var hasMigration: Bool
    /// The name of the key's migration; `nil` if it has none, or in a list that an earlier version has written.
    public var migration: String?
    /// The name of the schema of the values; `nil` if they have no versions.
    public var schema: String?
    /// The present version of the schema.
    public var version: Int?
    /// Whether the value is a secret.
    public var isSensitive: Bool
    /// The reason why the key cannot be used on this machine, or `nil` if it can.
    public var obstacle: String?
  }

  /// The version of the file format.
  public var format = 2
  /// The name of the application.
  public var application: String
  /// The names of the catalogs, in the order of their registration.
  public var catalogs: [String]
  /// The keys and families in the order of their names.
  public var entries: [Entry]

  /// The manifest as JSON.
  public var encoded: Data {
    get throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      return try encoder.encode(self)
    }
  }

  /// Decodes a manifest from JSON.
  /// - Throws: `StorageError`: `decodingFailed` if the data is not a manifest, `newerFormat` if its version is newer.
  public init(decoding data: Data) throws {
    struct Format: Decodable { let format: Int }
    do {
      guard try JSONDecoder().decode(Format.self, from: data).format <= 2 else {
        throw StorageError(.newerFormat, "The list of keys was written by a newer version.", advice: "Update coffer.")
      }
      self = try JSONDecoder().decode(StorageManifest.self, from: data)
    } catch let error as StorageError {
      throw error
    } catch {
      throw StorageError(
        .decodingFailed, "The data is not a list of keys.",
        advice: "An application writes one: try await router.manifest().encoded.write(to: file).")
    }
  }

  init(application: String, catalogs: [String], entries: [Entry]) {
    self.application = application
    self.catalogs = catalogs
    self.entries = entries
  }
}

extension StorageManifest.Entry {
  /// The lifetime in words, such as `30 days` or `1 hour, 30 minutes`.
  package var lifetimeInWords: String? {
    lifetime.map { seconds in
      let style = Duration.UnitsFormatStyle(
        allowedUnits: [.days, .hours, .minutes, .seconds, .milliseconds], width: .wide)
      return Duration.seconds(seconds).formatted(style.locale(Locale(identifier: "en_GB")))
    }
  }
}

extension StorageRouter {
  /// Returns the declarations of all registered keys, with overrides of their sync policies, for `coffer audit`.
  /// - Throws: `StorageError` when the overrides cannot be read.
  public func manifest() async throws -> StorageManifest {
    try await loadSyncPolicies()
    return declarations(of: registry.registered)
  }

  nonisolated func declarations(of records: [KeyRegistry.Record]) -> StorageManifest {
    StorageManifest(
      application: configuration.applicationName, catalogs: registry.catalogs.map(\.name),
      entries: records.map { record in
        let key = record.descriptor
        let (location, problem) = store(of: key.domain)
        let sync = registry.syncPolicy(record)
        return StorageManifest.Entry(
          name: key.name, family: key.family, type: key.valueType, catalog: record.catalog ?? "",
          domain: key.domain.description,
          store: location.flatMap(address), security: key.security.description, keySource: keySource(of: key),
          serializer: key.serializer,
          owner: key.owner,
          description: key.description, availability: key.availability.rawValue, sync: sync.rawValue,
          declaredSync: sync == key.syncPolicy ? nil : key.syncPolicy.rawValue, lifetime: key.lifetime?.inSeconds,
          hasDefault: key.hasDefault, hasMigration: key.hasMigration, migration: key.migration,
          schema: key.schema?.name, version: key.schema?.version,
          isSensitive: key.isSensitive,
          obstacle: (record.obstacle ?? problem)?.message)
      })
  }

  /// Returns the name of the source of an encrypted key's root key.
  private nonisolated func keySource(of key: StorageKeyDescriptor) -> String? {
    guard let policy = key.encryption else { return nil }
    if let name = policy.keyMaterial { return "the provider '\(name.id.escapingControlCharacters)'" }
    return configuration.encryption.key?.description ?? "the desktop's keyring"
  }

  /// Returns the location of a store for the `coffer` command, also for an engine that the application opened; `nil`
  /// for a store that other processes cannot open.
  private nonisolated func address(of location: DomainLocation) -> String? {
    if let engine = configuration.engine(at: location) {
      if let database = engine.as(SQLiteEngine.self) { return "sqlite:\(database.path)" }
      return engine.as(SlotEngine.self).flatMap { try? StoreLocation($0.description) }?.description
    }
    guard case .store(let location) = location, !configuration.isInMemory else { return nil }
    if case .memory = location { return nil }
    return location.description
  }

  private nonisolated func store(of domain: StorageDomain) -> (DomainLocation?, StorageError?) {
    do { return (try DomainLocation(domain, configuration), nil) } catch { return (nil, error as? StorageError) }
  }
}
