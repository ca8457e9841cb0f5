public import Foundation

/// Where a value lives (document 4).
///
/// Keys with the same domain share a home: their values can be written together, in one commit.
public enum StorageDomain: Hashable, Sendable {
  /// The preferences that `UserDefaults(suiteName:)` reads; the application's own without a suite.
  case userDefaults(suite: String? = nil)
  /// The preferences that a group of applications shares; the configuration's group unless given.
  case appGroupUserDefaults(group: String? = nil)
  /// The system's keychain; the application's service unless given, and a group of applications that share it.
  case keychain(service: String? = nil, accessGroup: String? = nil)
  /// A file per value, in a directory of the application's own in this one.
  case fileSystem(FileDirectory)
  /// The same, encrypted. This version refuses to read or write it.
  case encryptedFileSystem(FileDirectory)
  /// A file per value, in the directory that a group of applications shares; the configuration's group unless given.
  case appGroupFileSystem(group: String? = nil)
  /// A database file; the application's own unless given.
  case database(URL? = nil)
  /// A store by its location: a sealed file, a chain of homes for secrets, or a kind that another target adds.
  case store(StoreLocation)
  /// Memory: gone with the router.
  case memory(String = "memory")
  /// An engine that the router's configuration has under this name.
  case engine(String)

  /// Whether it keeps secrets as secrets.
  public var isSecure: Bool {
    switch self {
    case .encryptedFileSystem: true
    default: keepsSecrets
    }
  }

  /// What the domain does by itself.
  @usableFromInline
  var security: SecurityPolicy {
    switch self {
    case .encryptedFileSystem: .encrypted(.aes256)
    case _ where keepsSecrets: .keychain()
    default: .none
    }
  }

  /// Whether its values are a keychain's: in the desktop's keyring or sealed.
  @usableFromInline
  var keepsSecrets: Bool {
    switch self {
    case .keychain: true
    case .store(let location): location.keepsSecrets
    default: false
    }
  }
}

extension StorageDomain: CustomStringConvertible {
  /// In words for a report: `preferences com.example.shop`.
  public var description: String {
    switch self {
    case .userDefaults(let suite): "preferences" + Self.suffix(suite)
    case .appGroupUserDefaults(let group): "preferences of the app group" + Self.suffix(group)
    case .keychain(let service, let group):
      "keychain" + Self.suffix(service) + (group.map { " shared by \($0.escapingControlCharacters)" } ?? "")
    case .fileSystem(let directory): "files in \(directory.name)"
    case .encryptedFileSystem(let directory): "encrypted files in \(directory.name)"
    case .appGroupFileSystem(let group): "files of the app group" + Self.suffix(group)
    case .database(let url): "database" + Self.suffix(url?.path)
    case .store(let location): "store \(location.description.escapingControlCharacters)"
    case .memory(let name): "memory" + (name == "memory" ? "" : Self.suffix(name))
    case .engine(let name): "engine" + Self.suffix(name)
    }
  }

  private static func suffix(_ name: String?) -> String { name.map { " " + $0.escapingControlCharacters } ?? "" }
}

extension FileDirectory {
  /// In words for a report.
  var name: String {
    switch self {
    case .documents: "documents"
    case .caches: "caches"
    case .applicationSupport: "application support"
    case .custom(let url): url.path.escapingControlCharacters
    }
  }
}
