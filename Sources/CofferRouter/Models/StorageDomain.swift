import Coffer
public import CofferEncryption
public import Foundation

/// The kind of store in which a value is kept.
///
/// Keys with the same domain share a store: their values can be written together, in one commit.
///
/// A sealed file takes its passphrase from the source of its domain, or from `StoreOptions.passphrase` of the
/// router's configuration if the domain has none. All keys in one sealed file must name the same source; a key with
/// another one is refused with `invalidDeclaration`.
public enum StorageDomain: Hashable, Sendable {
  /// The preferences that `UserDefaults(suiteName:)` reads; by default the application's own suite.
  case userDefaults(suite: String? = nil)
  /// The preferences of an app group; by default that of the configuration.
  case appGroupUserDefaults(group: String? = nil)
  /// The system's keychain, by default with the application's own service, optionally of an access group.
  case keychain(service: String? = nil, accessGroup: String? = nil)
  /// Secrets in one file, encrypted under a passphrase, for machines without a desktop's keyring.
  case sealed(URL, passphrase: PassphraseSource? = nil)
  /// The system's keychain, or a sealed file where there is none, as selected by `SecretChain`; the service is by
  /// default the application's own.
  case chain(service: String? = nil, accessGroup: String? = nil, sealed: URL, passphrase: PassphraseSource? = nil)
  /// One file per value: in a subdirectory with the application's name, or directly in a custom directory.
  case fileSystem(FileDirectory)
  /// One encrypted file per value, in a subdirectory of its own or directly in a custom directory.
  case encryptedFileSystem(FileDirectory)
  /// One file per value in the shared container of an app group; by default that of the configuration.
  case appGroupFileSystem(group: String? = nil)
  /// A database file; by default `coffer.db` in the application's data directory.
  case database(URL? = nil)
  /// A store by its location, such as one of a kind that a `LocationScheme` adds.
  case store(StoreLocation)
  /// A store in memory, which is lost with the router.
  case memory(String = "memory")
  /// An engine by its name in ``StorageConfiguration/engines``. It protects its values if it declares `secrecy`.
  case engine(String)

  /// Whether the domain protects its values; `false` for an engine of a configuration, which is not known here.
  public var isSecure: Bool {
    isEncrypted || keepsSecrets
  }

  /// Whether all values of the domain's store are encrypted by this library.
  @usableFromInline
  var isEncrypted: Bool {
    switch self {
    case .encryptedFileSystem, .store(.encrypted): true
    default: false
    }
  }

  /// The protection that the domain provides by default.
  @usableFromInline
  var security: SecurityPolicy {
    switch self {
    case _ where isEncrypted: .encrypted(.ofStore)
    case _ where keepsSecrets: .keychain()
    default: .none
    }
  }

  /// Whether the domain's values are in the desktop's keyring, in a sealed file or in an encrypted store.
  @usableFromInline
  var keepsSecrets: Bool {
    switch self {
    case .keychain, .sealed, .chain: true
    case .store(let location): location.keepsSecrets
    default: false
    }
  }
}

extension StorageDomain: CustomStringConvertible {
  /// A short description for reports, such as `preferences com.example.shop`.
  public var description: String {
    switch self {
    case .userDefaults(let suite): "preferences" + Self.suffix(suite)
    case .appGroupUserDefaults(let group): "preferences of the app group" + Self.suffix(group)
    case .keychain(let service, let group):
      "keychain" + Self.suffix(service) + (group.map { " shared by \($0.escapingControlCharacters)" } ?? "")
    case .sealed(let file, _): "sealed file \(file.path.escapingControlCharacters)"
    case .chain(let service, let group, let file, _):
      "\(StorageDomain.keychain(service: service, accessGroup: group)), or \(StorageDomain.sealed(file))"
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
  /// A short description for reports.
  var name: String {
    switch self {
    case .documents: "documents"
    case .caches: "caches"
    case .applicationSupport: "application support"
    case .custom(let url): url.path.escapingControlCharacters
    }
  }
}
