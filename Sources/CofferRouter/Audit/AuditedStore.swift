import Coffer
import CofferSecrets

/// A store as an audit finds it.
package enum AuditedStore: Sendable {
  /// There is no store, which was proven: no key has a value.
  case missing
  /// An existing store, which was opened.
  case open(any StorageEngine)
  /// The keys of a keyring that this user has not opened before, so that opening it would create its journal.
  case keyring([KeyName], location: String)
}

extension StoreLocation {
  /// Opens a store for an audit if it exists, and creates nothing. A keyring without a journal here may hold secrets
  /// nevertheless, written under another data directory: it is asked for its keys.
  /// - Parameter open: opens the store.
  /// - Throws: The errors of `open`, and `unavailable` for a keyring that cannot be asked: its contents are unknown.
  package func audited(
    _ options: StoreOptions, open: () async throws -> any StorageEngine
  ) async throws -> AuditedStore {
    switch self {
    case .keychain(let service, let group):
      guard try exists(options) else {
        let keys = try await KeychainInspection.keys(
          service: service, accessGroup: group, configuration: options.keychain)
        return keys.isEmpty ? .missing : .keyring(keys, location: description)
      }
    case .chain(let links):
      guard let keyring = links.first, let sealed = links.last, try !sealed.exists(options) else { break }
      guard try keyring.exists(options) else { return try await keyring.audited(options, open: open) }
      // Opening a chain whose keyring cannot be used would create the sealed file.
      if let choice = try await secretChain(options)?.choose(configuration: options.keychain), choice.index > 0 {
        throw StorageError(
          .unavailable, "\(choice.reason) It was used before, so it may hold secrets.",
          advice: "Make the keyring available, or remove it from the chain.", location: description)
      }
    default: guard try exists(options) else { return .missing }
    }
    return .open(try await open())
  }
}

extension DomainLocation {
  /// Opens a store for an audit if it exists, and creates nothing.
  func audited(
    _ configuration: StorageConfiguration, open: () async throws -> any StorageEngine
  ) async throws -> AuditedStore {
    guard case .store(let location) = self, !configuration.isInMemory, configuration.engine(at: self) == nil else {
      return .open(try await open())
    }
    return try await location.audited(configuration.stores, open: open)
  }
}
