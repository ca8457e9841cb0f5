import CofferCore
public import CofferEncryption
import CofferFileSystem
public import CofferFiles
public import Foundation

/// A list of stores for secrets in order of preference: the desktop's keyring, for example, and a sealed file for
/// machines without a desktop.
///
/// ```swift
/// let chain = SecretChain(
///   .keychain(service: "com.example.shop"),
///   .sealed(URL(fileURLWithPath: "/var/lib/shop/secrets.sealed"), passphrase: .systemdCredential("shop-secrets")))
/// let adapter = try await KeychainAdapter.open(chain)
/// ```
///
/// The first store that already contains secrets is selected, whatever its state: a locked keyring is unavailable, and
/// no empty store is created elsewhere because of that. If none contains secrets, the first one that can be created is
/// selected. A keyring is skipped only if it provably cannot be used: no bus, no keyring, no default collection, no
/// library to reach it, or no encryption on the bus. One that does not answer is an error instead.
///
/// Without HOME and XDG_DATA_HOME the keyring's journal has no directory and the keyring is skipped, unless the
/// home directory in the user database contains such a journal: then the keyring is unavailable.
/// ``choose(configuration:)`` returns the selected store and the reason, and `coffer info` prints them.
public struct SecretChain: Sendable {
  /// A store in a chain.
  public enum Link: Sendable, CustomStringConvertible {
    /// The desktop's keyring.
    case keychain(service: String, accessGroup: String? = nil)
    /// A sealed file and the source of its passphrase.
    case sealed(URL, passphrase: PassphraseSource)

    /// The location of the store, in the notation of the `coffer` command.
    public var description: String {
      switch self {
      case .keychain(let service, let group): "keychain:\(service)\(group.map { "@\($0)" } ?? "")"
      case .sealed(let file, _): "sealed:\(file.path)"
      }
    }
  }

  /// The store that a chain selects.
  public struct Choice: Sendable {
    /// The zero-based position of the store in the chain.
    public let index: Int
    /// The selected store.
    public let link: Link
    /// The reason for the selection: a lower-case clause, or the messages of the stores that were skipped.
    public let reason: String
  }

  /// The stores in order of preference.
  public let links: [Link]

  /// Creates a chain of one or more stores in order of preference.
  public init(_ first: Link, _ others: Link...) { links = [first] + others }

  /// Creates a chain of stores in order of preference, or returns `nil` if the array is empty.
  public init?(_ links: [Link]) {
    guard !links.isEmpty else { return nil }
    self.links = links
  }

  /// Returns the store that ``open(configuration:)`` would open now, without changing anything.
  /// - Throws: `StorageError` with code `unavailable` if no store can be used, or if a keyring that may exist does not
  ///   answer.
  public func choose(configuration: KeychainConfiguration = KeychainConfiguration()) async throws -> Choice {
    for (index, link) in links.enumerated() where try await holdsSecrets(link) {
      return Choice(index: index, link: link, reason: "it holds secrets already")
    }
    var obstacles: [String] = []
    for (index, link) in links.enumerated() {
      guard let obstacle = try await obstacle(to: link, configuration) else {
        let reason = obstacles.isEmpty ? "it is the first in the chain" : obstacles.joined(separator: " ")
        return Choice(index: index, link: link, reason: reason)
      }
      obstacles.append(obstacle)
    }
    throw StorageError(
      .unavailable, "No store for secrets can be used. \(obstacles.joined(separator: " "))",
      advice: "Unlock or install a keyring, or add a sealed file to the chain.", location: description)
  }

  /// Opens the selected store.
  /// - Throws: The errors of ``choose(configuration:)`` and those of opening the store.
  public func open(configuration: KeychainConfiguration = KeychainConfiguration()) async throws -> SlotEngine {
    switch try await choose(configuration: configuration).link {
    case .keychain(let service, let group):
      try await SlotEngine.keychain(service: service, accessGroup: group, configuration: configuration)
    case .sealed(let file, let passphrase):
      try await SlotEngine.sealed(
        at: file, passphrase: passphrase, configuration: configuration.store, limits: configuration.passphraseLimits)
    }
  }

  private var description: String { links.map(\.description).joined(separator: ", then ") }

  /// Returns whether a sealed file exists or existed, or whether a keychain's journal lists any keys.
  private func holdsSecrets(_ link: Link) async throws -> Bool {
    switch link {
    case .sealed(let file, _):
      let file = try SealedFile(file)
      return try file.exists() || file.wasUsed()
    case .keychain(let service, let group):
      guard let location = try KeychainLocation.ifAny(service: service, accessGroup: group, in: .current) else {
        return false
      }
      guard try location.wasUsed() else { return false }
      return try await location.journalHasKeys()
    }
  }

  /// Returns the proven reason why a store cannot be created, or `nil` if it can.
  /// - Throws: `unavailable` if that cannot be determined.
  private func obstacle(to link: Link, _ configuration: KeychainConfiguration) async throws -> String? {
    switch link {
    case .sealed: return nil
    case .keychain(let service, let group):
      guard try KeychainLocation.ifAny(service: service, accessGroup: group, in: .current) != nil else {
        return KeychainLocation.noJournalDirectory
      }
      #if SecretService && os(Linux)
        let client = SecretServiceClient(
          address: configuration.address, timeout: configuration.timeout,
          allowsPlainSession: configuration.allowsPlainSession, allowsPrompts: configuration.allowsPrompts)
        let state = try await runBlocking { client.state() }
        switch state {
        case .open, .locked, .prompting: return nil
        case .noLibrary, .noBus, .noService, .noDefaultCollection, .plainSession:
          return try await runBlocking { client.error(of: state) }.message
        case .noAnswer:
          let error = state.error()
          throw StorageError(
            .unavailable, "\(error.message) It may exist, so no other store for secrets was created.",
            advice: error.advice + " To stop using it, remove it from the chain.", location: description,
            underlying: error.underlying)
        }
      #else
        return "This program was built without support for the desktop's keyring."
      #endif
    }
  }
}

extension KeychainAdapter {
  /// Opens the store that a chain selects.
  /// - Throws: The errors of ``SecretChain/open(configuration:)``.
  public static func open(
    _ chain: SecretChain, configuration: KeychainConfiguration = KeychainConfiguration()
  ) async throws -> KeychainAdapter {
    KeychainAdapter(engine: try await chain.open(configuration: configuration))
  }
}
