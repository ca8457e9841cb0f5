import CofferFileSystem
import CofferKeychain
import CofferPreferences
import CofferSQLite
import Foundation

/// A home by its real place: domains that lead to the same place share it.
enum HomePlace: Hashable, Sendable {
  case preferences(suite: ExactText)
  case keychain(service: ExactText, accessGroup: ExactText?)
  case files(directory: ExactText)
  case database(path: ExactText)
  case memory(name: ExactText)
  case engine(name: ExactText)

  /// - Throws: `notFound` when the system does not say where it is, `unsupported` for what this version cannot open.
  init(_ domain: StorageDomain, _ configuration: StorageConfiguration) throws {
    let application = configuration.applicationName
    switch domain {
    case .userDefaults(let suite): self = .preferences(suite: ExactText(suite ?? application))
    case .appGroupUserDefaults(let group): self = .preferences(suite: ExactText(try configuration.group(group)))
    case .keychain(let service, let group):
      self = .keychain(service: ExactText(service ?? application), accessGroup: group.map(ExactText.init))
    case .fileSystem(.custom(let url)): self = try .files(in: FileDirectory.custom(url).url())
    case .fileSystem(let directory):
      // All applications share these directories.
      self = try .files(in: directory.url().appendingPathComponent(application))
    case .encryptedFileSystem: throw StorageError.noEncryption
    case .appGroupFileSystem(let group):
      self = try .files(in: AppGroup.container(configuration.group(group)).appendingPathComponent("Files"))
    case .database(let url?):
      self = .database(path: ExactText(try FileDirectory.custom(url).url().standardizedFileURL.path))
    case .database(nil):
      let support = try SystemDirectories.current.url(for: .applicationSupport).appendingPathComponent(application)
      self = .database(path: ExactText(support.appendingPathComponent("coffer.db").path))
    case .memory(let name): self = .memory(name: ExactText(name))
    case .engine(let name): self = .engine(name: ExactText(name))
    }
  }

  private static func files(in directory: URL) -> HomePlace {
    .files(directory: ExactText(directory.standardizedFileURL.path))
  }

  /// As the `coffer` command calls it; `nil` for what only this process has.
  var store: String? {
    switch self {
    case .preferences(let suite): "prefs:\(suite)"
    case .keychain(let service, let group): Self.keychain(service.description, group?.description)
    case .files(let directory): "file:\(directory)"
    case .database(let path): "sqlite:\(path)"
    case .memory, .engine: nil
    }
  }

  /// `nil` for names that the command would understand otherwise.
  private static func keychain(_ service: String, _ group: String?) -> String? {
    let isPlain = !service.contains("@") && !"\(service) \(group ?? "")".contains("+sealed:")
    return isPlain ? "keychain:\(service)\(group.map { "@\($0)" } ?? "")" : nil
  }

  /// Whether this library has used it. Looks and makes nothing.
  func exists() throws -> Bool {
    switch self {
    case .preferences(let suite):
      let place = try PreferencesInspection.place(of: suite.description)
      return try PathParts.exists(place.path) || PathParts.exists(place.control)
    case .files(let path), .database(let path): return try PathParts.exists(path.description)
    case .keychain(let service, let group):
      return try KeychainInspection.wasUsed(service: service.description, accessGroup: group?.description)
    case .memory, .engine: return true
    }
  }

  func open(_ configuration: StorageConfiguration) async throws -> any StorageEngine {
    if configuration.isInMemory { return MemoryEngine(name: store ?? "memory") }
    switch self {
    case .preferences(let suite):
      return try await SlotEngine.preferences(suite: suite.description, configuration: configuration.slots)
    case .keychain(let service, let group):
      return try await SlotEngine.keychain(
        service: service.description, accessGroup: group?.description, configuration: configuration.keychain)
    case .files(let directory):
      return try await SlotEngine.files(
        in: URL(fileURLWithPath: directory.description, isDirectory: true), configuration: configuration.slots)
    case .database(let path):
      return try await SQLiteEngine.open(at: path.description, configuration: configuration.database)
    case .memory(let name): return MemoryEngine(name: name.description)
    case .engine(let name):
      guard let engine = configuration.engines[name.description] else {
        throw StorageError(
          .invalidDeclaration, "The router has no engine '\(name.description.escapingControlCharacters)'.",
          advice: "Give it one: configuration.engines[\"\(name.description.escapingControlCharacters)\"].")
      }
      return engine
    }
  }
}

extension StorageConfiguration {
  fileprivate func group(_ group: String?) throws -> String {
    guard let group = group ?? appGroup else {
      throw StorageError(
        .invalidDeclaration, "The key names no app group, and neither does the router.",
        advice: "Set StorageConfiguration.appGroup.")
    }
    return group
  }
}

extension StorageError {
  static var noEncryption: StorageError {
    StorageError(
      .unsupported, "This version cannot encrypt values.",
      advice: "Keep the value in a keychain. Nothing was read or written, least of all as it is.")
  }
}
