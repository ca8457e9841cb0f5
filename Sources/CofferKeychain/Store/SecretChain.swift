import CofferCore
public import CofferCrypto
import CofferFileSystem
public import CofferSlots
public import Foundation

/// Homes for secrets in the order in which an application wants them: the desktop's keyring, say, and a sealed file
/// where no desktop is.
///
/// ```swift
/// let chain = SecretChain(
///   .keychain(service: "com.example.shop"),
///   .sealed(URL(fileURLWithPath: "/var/lib/shop/secrets.sealed"), passphrase: .systemdCredential("shop-secrets")))
/// let adapter = try await KeychainAdapter.open(chain)
/// ```
///
/// The first home that holds secrets already is taken, whatever its state: one that is locked is unavailable, and no
/// reason to begin an empty store somewhere else. Where none does, the first that can be begun is: a keyring is passed
/// over only where there is none or no library to reach it with, and not where it does not answer. Without HOME and
/// XDG_DATA_HOME there is no place for the keyring's journal: it is passed over, unless the home directory that the
/// system's list of users has for this user holds one.
/// ``choose(configuration:)`` says which and why, and `coffer info` prints it.
public struct SecretChain: Sendable {
  /// One home of a chain.
  public enum Link: Sendable, CustomStringConvertible {
    /// The desktop's keyring.
    case keychain(service: String, accessGroup: String? = nil)
    /// A sealed file, and where its passphrase is read.
    case sealed(URL, passphrase: PassphraseSource)

    /// As the `coffer` command calls it.
    public var description: String {
      switch self {
      case .keychain(let service, let group): "keychain:\(service)\(group.map { "@\($0)" } ?? "")"
      case .sealed(let file, _): "sealed:\(file.path)"
      }
    }
  }

  /// Which home was taken.
  public struct Choice: Sendable {
    /// Its place in the chain, from 0.
    public let index: Int
    /// The home.
    public let link: Link
    /// Why this one, in a sentence that begins small.
    public let reason: String
  }

  /// The homes in their order.
  public let links: [Link]

  /// A chain of at least one home.
  public init(_ first: Link, _ others: Link...) { links = [first] + others }

  /// A chain of homes in their order; `nil` for none.
  public init?(_ links: [Link]) {
    guard !links.isEmpty else { return nil }
    self.links = links
  }

  /// Says which home is taken now. Changes nothing.
  /// - Throws: `StorageError` with code `unavailable`: when none can be used, and why, and when a keyring that may be
  ///   there does not answer.
  public func choose(configuration: KeychainConfiguration = KeychainConfiguration()) async throws -> Choice {
    for (index, link) in links.enumerated() where try await holdsSecrets(link) {
      return Choice(index: index, link: link, reason: "it holds secrets already")
    }
    var obstacles: [String] = []
    for (index, link) in links.enumerated() {
      guard let obstacle = try await obstacle(to: link, configuration) else {
        let reason = obstacles.isEmpty ? "it is the first" : obstacles.joined(separator: " ")
        return Choice(index: index, link: link, reason: reason)
      }
      obstacles.append(obstacle)
    }
    throw StorageError(
      .unavailable, "No home for secrets can be used. \(obstacles.joined(separator: " "))",
      advice: "Unlock or install a keyring, or add a sealed file to the chain.", backend: description)
  }

  /// Opens the home that is taken.
  /// - Throws: What ``choose(configuration:)`` throws, and what opening the home throws.
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

  /// Whether somebody has begun to use a home.
  private func holdsSecrets(_ link: Link) async throws -> Bool {
    switch link {
    case .sealed(let file, _):
      let file = try SealedFile(file)
      return try file.exists() || file.wasUsed()
    case .keychain(let service, let group):
      guard let place = try KeychainPlace.ifAny(service: service, accessGroup: group, in: .current) else {
        return false
      }
      guard try place.wasUsed() else { return false }
      return try await place.journalHasKeys()
    }
  }

  /// Why a home cannot be begun, which is proven; `nil` when it can.
  /// - Throws: `unavailable` when nobody can tell.
  private func obstacle(to link: Link, _ configuration: KeychainConfiguration) async throws -> String? {
    switch link {
    case .sealed: return nil
    case .keychain(let service, let group):
      guard try KeychainPlace.ifAny(service: service, accessGroup: group, in: .current) != nil else {
        return KeychainPlace.noHome
      }
      #if SecretService && os(Linux)
        let client = SecretServiceClient(
          address: configuration.address, timeout: configuration.timeout,
          allowsPlainSession: configuration.allowsPlainSession)
        let state = try await beside { client.state() }
        switch state {
        case .open, .locked: return nil
        case .noLibrary, .noBus, .noService, .noDefaultCollection, .plainSession: return state.error().message
        case .noAnswer:
          let error = state.error()
          throw StorageError(
            .unavailable, "\(error.message) It may be there, so no other home for secrets was begun.",
            advice: error.advice + " To do without it for good, take it out of the chain.", backend: description,
            underlying: error.underlying)
        }
      #else
        return "This program was built without the desktop's keyring."
      #endif
    }
  }
}

extension KeychainAdapter {
  /// Opens the home of a chain that is taken.
  /// - Throws: What ``SecretChain/open(configuration:)`` throws.
  public static func open(
    _ chain: SecretChain, configuration: KeychainConfiguration = KeychainConfiguration()
  ) async throws -> KeychainAdapter {
    KeychainAdapter(engine: try await chain.open(configuration: configuration))
  }
}
