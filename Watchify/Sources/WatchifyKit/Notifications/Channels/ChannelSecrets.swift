import Coffer
public import CofferEncryption
public import CofferSecrets
public import Foundation

/// What a channel must keep secret.
public struct ChannelSecret: Codable, Hashable, Sendable {
  /// The address to which the channel delivers. That of a Discord or Slack webhook contains its token.
  public var address: String
  /// The token, signing key or password; `nil` if the channel has none.
  public var token: String?

  /// Creates a secret.
  public init(address: String, token: String? = nil) {
    self.address = address
    self.token = token
  }
}

/// The secrets of channels: in the desktop's keyring or, where there is none, in a sealed file.
///
/// ```swift
/// let secrets = ChannelSecrets(beside: database, passphrase: .systemdCredential("watchify"))
/// try await secrets.store(ChannelSecret(address: address, token: token), for: channel.id)
/// ```
///
/// The database contains only the identifier of a channel. The store for secrets is opened when a secret is first read,
/// and closed again.
public actor ChannelSecrets {
  private let chain: SecretChain
  private var known: [UUID: ChannelSecret] = [:]

  /// Creates the secrets of a database: the keyring's service "watchify", or else the sealed file `<database>.sealed`.
  /// - Parameters:
  ///   - database: the file of the database.
  ///   - passphrase: the source of the passphrase of the sealed file.
  public init(beside database: URL, passphrase: PassphraseSource) {
    self.init(SecretChain(.keychain(service: "watchify"), .sealed(Self.file(beside: database), passphrase: passphrase)))
  }

  /// Creates secrets in the store that a chain selects.
  public init(_ chain: SecretChain) { self.chain = chain }

  /// Returns the sealed file of a database.
  public static func file(beside database: URL) -> URL {
    database.deletingLastPathComponent().appendingPathComponent(database.lastPathComponent + ".sealed")
  }

  /// Returns the secret of a channel; `nil` if there is none.
  /// - Throws: `StorageError` if the store for secrets is locked, or cannot be opened.
  public func secret(of channel: UUID) async throws -> ChannelSecret? {
    if let secret = known[channel] { return secret }
    let secret = try await open { try await $0.load(ChannelSecret.self, for: Self.key(channel)) }
    known[channel] = secret
    return secret
  }

  /// Stores the secret of a channel.
  /// - Throws: `StorageError`.
  public func store(_ secret: ChannelSecret, for channel: UUID) async throws {
    try await open { try await $0.save(secret, for: Self.key(channel)) }
    known[channel] = secret
  }

  /// Removes the secret of a channel, if there is one.
  /// - Throws: `StorageError`.
  public func remove(_ channel: UUID) async throws {
    known[channel] = nil
    try await open { try await $0.delete(Self.key(channel)) }
  }

  private static func key(_ channel: UUID) throws -> KeyName { try KeyName("channel/\(channel.uuidString)") }

  private func open<R: Sendable>(_ body: (TypedStore) async throws -> R) async throws -> R {
    let engine = try await chain.open()
    do {
      let result = try await body(TypedStore(engine: engine))
      try await engine.close()
      return result
    } catch {
      try? await engine.close()
      throw error
    }
  }
}
