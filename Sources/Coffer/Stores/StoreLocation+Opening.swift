public import CofferCore
import CofferFileSystem
import CofferFiles
import CofferSQLite
package import CofferSecrets
import Foundation

extension StoreLocation {
  /// Opens the store and returns its engine. With read-only access, a store in memory is empty.
  /// - Throws: `StorageError`: `invalidLocation` for an invalid location, `unavailable` for a sealed file without
  ///   ``StoreOptions/passphrase``, `notFound` when the store is missing and must not be created, and any error of
  ///   opening that kind of store.
  public func open(_ options: StoreOptions = StoreOptions()) async throws -> any StorageEngine {
    try check()
    switch self {
    case .sqlite(let path): return try await SQLiteEngine.open(at: path, configuration: options.database)
    case .files(let directory):
      return try await SlotEngine.files(
        in: URL(fileURLWithPath: directory, isDirectory: true), configuration: options.slots)
    case .memory(let name): return MemoryEngine(name: name, events: options.events).allowing(options.access)
    case .preferences(let suite):
      return try await SlotEngine.preferences(suite: suite, configuration: options.slots)
    case .keychain(let service, let group):
      return try await SlotEngine.keychain(service: service, accessGroup: group, configuration: options.keychain)
    case .sealed(let path):
      return try await SlotEngine.sealed(
        at: URL(fileURLWithPath: path), passphrase: options.passphrase(for: path), configuration: options.slots,
        limits: options.keychain.passphraseLimits)
    case .chain:
      guard let chain = try secretChain(options) else { throw StorageError.invalidLocation("The chain is empty.") }
      return try await chain.open(configuration: options.keychain)
    case .encrypted(let base): return try await options.encryption.open(base, options)
    case .other(let scheme, let address):
      return try await options.scheme(scheme).opened(address, options).allowing(options.access)
    }
  }

  /// Returns whether the store exists, without creating anything. A keychain exists once this user has opened it with
  /// this library; `false` does not mean that the keyring holds none of its secrets.
  /// - Throws: `StorageError` when the location cannot be examined.
  public func exists(_ options: StoreOptions = StoreOptions()) throws -> Bool {
    try check()
    switch self {
    case .sqlite(let path), .files(let path): return try PathParts.exists(Self.absolute(path))
    case .memory: return true
    case .preferences(let suite):
      let paths = try PreferencesInspection.paths(of: suite)
      return try PathParts.exists(paths.path) || PathParts.exists(paths.control)
    case .keychain(let service, let group):
      return try KeychainInspection.wasUsed(service: service, accessGroup: group)
    case .sealed(let path):
      let path = Self.absolute(path)
      return try PathParts.exists(path) || PathParts.exists(path + ".coffer/journal.db")
    case .chain(let links): return try links.reversed().contains { try $0.exists(options) }
    case .encrypted(let base): return try base.exists(options)
    case .other(let scheme, let address): return try options.scheme(scheme).exists(address)
    }
  }

  /// Returns the stores of a chain, or `nil` for any other location.
  package func secretChain(_ options: StoreOptions) throws -> SecretChain? {
    guard case .chain(let links) = self else { return nil }
    try check()
    return SecretChain(
      try links.compactMap { link in
        switch link {
        case .keychain(let service, let group): .keychain(service: service, accessGroup: group)
        case .sealed(let path): .sealed(URL(fileURLWithPath: path), passphrase: try options.passphrase(for: path))
        case .sqlite, .files, .memory, .preferences, .chain, .encrypted, .other: nil
        }
      })
  }

  /// The location with absolute, standardized paths, so that different spellings of a path compare equal.
  package var standardized: StoreLocation {
    // Foundation expands a leading `~` to the home directory.
    switch self {
    case .sqlite(let path): .sqlite(path: Self.absolute(path))
    case .files(let directory): .files(directory: Self.absolute(directory))
    case .sealed(let path): .sealed(path: Self.absolute(path))
    case .chain(let links): .chain(links.map(\.standardized))
    case .encrypted(let base): .encrypted(base.standardized)
    case .memory, .preferences, .keychain, .other: self
    }
  }

  /// The location with canonical paths, as the engines describe databases and files: symbolic links are resolved, those
  /// to the directory of a missing store as well.
  package var canonical: StoreLocation {
    switch self {
    case .sqlite(let path): .sqlite(path: Self.canonical(path))
    case .files(let directory): .files(directory: Self.canonical(directory))
    case .encrypted(let base): .encrypted(base.canonical)
    case .sealed, .chain, .memory, .preferences, .keychain, .other: standardized
    }
  }

  private static func canonical(_ path: String) -> String {
    PathParts.canonical(URL(fileURLWithPath: path).path) ?? absolute(path)
  }

  private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }
}

extension StorageEngine {
  /// Returns an engine with the requested access: this one, or a decorator that refuses to write.
  package func allowing(_ access: StoreAccess) -> any StorageEngine {
    access == .readOnly && !isReadOnly ? ReadOnlyEngine(self) : self
  }
}

extension StoreOptions {
  fileprivate func passphrase(for path: String) throws -> PassphraseSource {
    guard let passphrase else {
      throw StorageError(
        .unavailable, "The sealed file \(path.escapingControlCharacters) needs a passphrase, and none was given.",
        advice: "Give the domain a PassphraseSource, or set StoreOptions.passphrase.")
    }
    return try passphrase(path)
  }

  fileprivate func scheme(_ name: String) throws -> LocationScheme {
    guard let scheme = LocationScheme.named(name, in: schemes) else {
      throw StorageError.invalidLocation(
        "No scheme is registered for '\(name.escapingControlCharacters):'.",
        advice: "Register it, or add its LocationScheme to StoreOptions.schemes.")
    }
    return scheme
  }
}
