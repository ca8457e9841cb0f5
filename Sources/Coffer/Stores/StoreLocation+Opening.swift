public import CofferCore
import CofferFileSystem
import CofferFiles
package import CofferKeychain
import CofferPreferences
import CofferSQLite
import CofferSlots
import Foundation

extension StoreLocation {
  /// Opens the store.
  /// - Throws: `StorageError`: `invalidLocation` for what cannot be a store, `unavailable` for a sealed file without
  ///   ``StoreOptions/passphrase``, `notFound` where it may not be made, and what opening such a store throws.
  public func open(_ options: StoreOptions = StoreOptions()) async throws -> any StorageEngine {
    try check()
    switch self {
    case .sqlite(let path): return try await SQLiteEngine.open(at: path, configuration: options.database)
    case .files(let directory):
      return try await SlotEngine.files(
        in: URL(fileURLWithPath: directory, isDirectory: true), configuration: options.slots)
    case .memory(let name): return MemoryEngine(name: name)
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
    case .other(let scheme, let place): return try await options.scheme(scheme).open(place, options)
    }
  }

  /// Whether somebody has begun to use the store. Looks and makes nothing.
  /// - Throws: `StorageError` with what keeps its place from being looked at.
  public func exists(_ options: StoreOptions = StoreOptions()) throws -> Bool {
    try check()
    switch self {
    case .sqlite(let path), .files(let path): return try PathParts.exists(Self.absolute(path))
    case .memory: return true
    case .preferences(let suite):
      let place = try PreferencesInspection.place(of: suite)
      return try PathParts.exists(place.path) || PathParts.exists(place.control)
    case .keychain(let service, let group):
      return try KeychainInspection.wasUsed(service: service, accessGroup: group)
    case .sealed(let path):
      let path = Self.absolute(path)
      return try PathParts.exists(path) || PathParts.exists(path + ".coffer/journal.db")
    case .chain(let links): return try links.contains { try $0.exists(options) }
    case .other(let scheme, let place): return try options.scheme(scheme).exists(place)
    }
  }

  /// The homes of a chain; `nil` for what is none.
  package func secretChain(_ options: StoreOptions) throws -> SecretChain? {
    guard case .chain(let links) = self else { return nil }
    try check()
    return SecretChain(
      try links.compactMap { link in
        switch link {
        case .keychain(let service, let group): .keychain(service: service, accessGroup: group)
        case .sealed(let path): .sealed(URL(fileURLWithPath: path), passphrase: try options.passphrase(for: path))
        case .sqlite, .files, .memory, .preferences, .chain, .other: nil
        }
      })
  }

  /// The same store by the absolute paths of its files: one, however it was written.
  var standardized: StoreLocation {
    switch self {
    case .sqlite(let path): .sqlite(path: Self.absolute(path))
    case .files(let directory): .files(directory: Self.absolute(directory))
    case .sealed(let path): .sealed(path: Self.absolute(path))
    case .chain(let links): .chain(links.map(\.standardized))
    case .memory, .preferences, .keychain, .other: self
    }
  }

  private static func absolute(_ path: String) -> String { URL(fileURLWithPath: path).standardizedFileURL.path }
}

extension StoreOptions {
  fileprivate func passphrase(for path: String) throws -> PassphraseSource {
    guard let passphrase else {
      throw StorageError(
        .unavailable, "The sealed file \(path.escapingControlCharacters) needs a passphrase, and none was given.",
        advice: "Set StoreOptions.passphrase.")
    }
    return try passphrase(path)
  }

  fileprivate func scheme(_ name: String) throws -> StoreScheme {
    guard let scheme = schemes.first(where: { $0.name == name }) else {
      throw StorageError.invalidLocation(
        "Nothing opens a store of the kind '\(name.escapingControlCharacters):'.",
        advice: "Give its StoreScheme: StoreOptions.schemes.")
    }
    return scheme
  }
}
