import Coffer
import CofferFileSystem
import Foundation

/// The resolved location of a domain. Domains with the same location share a store.
enum DomainLocation: Hashable, Sendable {
  case store(StoreLocation)
  /// An engine of the configuration, by its name.
  case engine(name: ExactText)

  /// Resolves a domain.
  /// - Throws: `unavailable` when a system directory cannot be located, `unsupported` for a domain that this version
  ///   cannot open and for an invalid directory or app group, `invalidDeclaration` when no app group is named.
  init(_ domain: StorageDomain, _ configuration: StorageConfiguration) throws {
    let application = configuration.applicationName
    switch domain {
    case .userDefaults(let suite): self = .store(.preferences(suite: suite ?? application))
    case .appGroupUserDefaults(let group): self = .store(.preferences(suite: try configuration.group(group)))
    case .keychain(let service, let group):
      self = .store(.keychain(service: service ?? application, accessGroup: group))
    case .sealed(let file, _): self = try .checked(.sealed(path: FileDirectory.custom(file).url().path))
    case .chain(let service, let group, let file, _):
      self = try .checked(
        .chain([
          .keychain(service: service ?? application, accessGroup: group),
          .sealed(path: FileDirectory.custom(file).url().path),
        ]))
    case .fileSystem(.custom(let url)): self = try .files(in: FileDirectory.custom(url).url())
    case .fileSystem(let directory):
      // All applications share these directories, so use a subdirectory.
      self = try .files(in: directory.url().appendingPathComponent(application))
    case .encryptedFileSystem(let directory):
      let isOwn = if case .custom = directory { true } else { false }
      let url = try directory.url()
      // A directory that other applications or plain files share gets a subdirectory.
      self = try .checked(
        .encrypted(
          .files(directory: (isOwn ? url : url.appendingPathComponent(application + ".encrypted")).path)))
    case .appGroupFileSystem(let group):
      self = try .files(in: StoreAppGroup.container(configuration.group(group)).appendingPathComponent("Files"))
    case .database(let url?):
      self = .store(.sqlite(path: try FileDirectory.custom(url).url().path).standardized)
    case .database(nil):
      let support = try SystemDirectories.current.url(for: .applicationSupport).appendingPathComponent(application)
      self = .store(.sqlite(path: support.appendingPathComponent("coffer.db").path))
    case .memory(let name): self = .store(.memory(name: name))
    case .store(let location): self = try .checked(location)
    case .engine(let name): self = .engine(name: ExactText(name))
    }
  }

  private static func checked(_ location: StoreLocation) throws -> DomainLocation {
    try location.check()
    return .store(location.standardized)
  }

  private static func files(in directory: URL) -> DomainLocation {
    .store(.files(directory: directory.path).standardized)
  }

  /// Whether the store encrypts all of its values.
  var isEncrypted: Bool { if case .store(.encrypted) = self { true } else { false } }

  /// Returns whether the store exists, without creating anything.
  func exists(_ configuration: StorageConfiguration) throws -> Bool {
    guard !configuration.isInMemory, configuration.engine(at: self) == nil else { return true }
    switch self {
    case .store(let location): return try location.exists(configuration.stores)
    case .engine: return true
    }
  }

  func open(_ configuration: StorageConfiguration) async throws -> any StorageEngine {
    if let engine = configuration.engine(at: self) { return engine.allowing(configuration.access) }
    switch self {
    case .store(let location):
      guard !configuration.isInMemory else {
        return MemoryEngine(name: location.description, events: configuration.events).allowing(configuration.access)
      }
      do { return try await location.open(configuration.stores) } catch let error as StorageError
        where configuration.access == .readOnly
      {
        guard try location.isMissing(accordingTo: error, configuration.stores) else { throw error }
        return MissingStoreEngine(location, configuration.stores, error)
      }
    case .engine(let name):
      guard configuration.isInMemory else {
        throw StorageError(
          .invalidDeclaration, "The router has no engine '\(name.description.escapingControlCharacters)'.",
          advice: "Set configuration.engines[\"\(name.description.escapingControlCharacters)\"].")
      }
      return MemoryEngine(name: "memory", events: configuration.events).allowing(configuration.access)
    }
  }
}

extension StorageConfiguration {
  fileprivate func group(_ group: String?) throws -> String {
    guard let group = group ?? appGroup else {
      throw StorageError(
        .invalidDeclaration, "Neither the key nor the router's configuration names an app group.",
        advice: "Set StorageConfiguration.appGroup.")
    }
    return group
  }
}
