import CofferCore
public import CofferEncryption
public import Foundation

/// An actor that encrypts and decrypts single values, which the caller stores.
///
/// ```swift
/// let helper = EncryptionHelper()
/// let envelope = try await helper.encrypt(Data("s3cret".utf8), name: "token", policy: .aes256)
/// let token = try await helper.decrypt(envelope, name: "token", policy: .aes256)
/// ```
///
/// Each value has a key of its own, derived with HKDF-SHA-256 from the key of the policy, and is bound to its name: it
/// does not open under another one. To encrypt what a router stores, declare keys with `SecurityPolicy.encrypted`
/// instead: their encryption key can be rotated, and this one cannot. A value can also be encrypted under a passphrase:
/// ``encrypt(_:name:passphrase:algorithm:)``.
public actor EncryptionHelper {
  /// The shared helper, with the default settings.
  public static let shared = EncryptionHelper()

  private let configuration: StorageConfiguration
  /// The identity of the store, to which values are bound.
  private let store: Data
  private var keys: [KeyMaterialSource?: Task<DataKey, any Error>] = [:]

  /// Creates a helper.
  /// - Parameters:
  ///   - configuration: the settings, whose ``StorageConfiguration/encryption`` has the sources of keys.
  ///   - label: the name of the store that keeps the values, to which they are bound in addition to their names: in
  ///     another store with the same key they do not open. Empty by default.
  public init(configuration: StorageConfiguration = StorageConfiguration(), label: String = "") {
    self.configuration = configuration
    store = label.isEmpty ? Self.noStore : sha256(Self.noStore + Data(label.utf8)).prefix(Self.noStore.count)
  }

  /// Encrypts a value. The result has 80 bytes more.
  /// - Parameters:
  ///   - data: the value.
  ///   - name: the name to which the result is bound.
  ///   - policy: the algorithm and the source of the key.
  /// - Throws: `invalidKey` for an invalid name; `unavailable` if the key cannot be read; `valueTooLarge`.
  public func encrypt(_ data: Data, name: String, policy: SecurityPolicy.Encryption) async throws -> Data {
    let name = try KeyName(name)
    return try Envelope.seal(
      data, under: try await key(policy), context: context(name, format: 4), algorithm: policy.algorithm.cipher,
      isPadded: false)
  }

  /// Decrypts a value.
  /// - Parameters:
  ///   - data: the result of ``encrypt(_:name:policy:)``.
  ///   - name: the name with which it was encrypted.
  ///   - policy: the source of the key. The algorithm is that of the encrypted value.
  /// - Throws: `damaged` if the value was changed or has another name; `keyUnavailable` if it was encrypted with
  ///   another key; `newerFormat`; `invalidKey` for an invalid name; `unavailable` if the key cannot be read.
  public func decrypt(_ data: Data, name: String, policy: SecurityPolicy.Encryption) async throws -> Data {
    let name = try KeyName(name)
    let key = try await key(policy)
    return try open(data, name, format: 4, under: key) { StorageError.otherKey($0, name) }
  }

  // MARK: Passphrases

  /// Encrypts a value under a passphrase, with PBKDF2-HMAC-SHA-256 (RFC 8018; 600,000 rounds). The result has 124 bytes
  /// more.
  ///
  /// The key is derived anew for each value, with a random salt, which takes about a fifth of a second of one processor
  /// for whoever knows the passphrase, and for each guess. For many values use an encrypted store, whose passphrase
  /// goes through scrypt once, which is harder to guess.
  ///
  /// ```swift
  /// let sealed = try await helper.encrypt(export, name: "export", passphrase: .terminal())
  /// ```
  /// - Parameters:
  ///   - data: the value.
  ///   - name: the name to which the result is bound.
  ///   - passphrase: the source of the passphrase. A terminal prompts twice.
  ///   - algorithm: the cipher; AES-256-GCM by default.
  /// - Throws: `invalidKey` for an invalid name; the errors of the source; `valueTooLarge`.
  public func encrypt(
    _ data: Data, name: String, passphrase: PassphraseSource, algorithm: EncryptionAlgorithm = .aes256
  ) async throws -> Data {
    let name = try KeyName(name)
    let header = try PassphraseHeader.random()
    let key = try await Self.key(passphrase, confirming: true, header, PassphraseLimits())
    return try header.bytes
      + Envelope.seal(
        data, under: key, context: context(name, format: 6), algorithm: algorithm.cipher, isPadded: false)
  }

  /// Decrypts a value under a passphrase.
  /// - Parameters:
  ///   - data: the result of ``encrypt(_:name:passphrase:algorithm:)``.
  ///   - name: the name with which it was encrypted.
  ///   - passphrase: the source of the passphrase.
  ///   - limits: the maximum time of trying the passphrase, which the value determines. A value that demands more is
  ///     refused before the passphrase is requested.
  /// - Throws: The errors of the source. `wrongPassphrase`, also if the salt was changed; `damaged` if the value was
  ///   changed or has another name; `unsupported` for a value beyond the limits; `newerFormat`; `invalidKey` for an
  ///   invalid name.
  public func decrypt(
    _ data: Data, name: String, passphrase: PassphraseSource, limits: PassphraseLimits = PassphraseLimits()
  ) async throws -> Data {
    let name = try KeyName(name)
    do {
      let header = try PassphraseHeader(of: data)
      let key = try await Self.key(passphrase, confirming: false, header, limits)
      let envelope = Data(data.dropFirst(PassphraseHeader.count))
      return try open(envelope, name, format: 6, under: key) { _ in StorageError.otherPassphrase(name) }
    } catch let error as StorageError {
      throw error.locating(at: "", key: name)
    }
  }

  /// Reads a passphrase and derives its key, on a separate thread.
  private static func key(
    _ passphrase: PassphraseSource, confirming: Bool, _ header: PassphraseHeader, _ limits: PassphraseLimits
  ) async throws -> DataKey {
    try header.rounds.validate(within: limits)
    return try await runBlocking {
      let secret = try passphrase.read(confirming: confirming)
      return try DataKey(
        pbkdf2SHA256(secret, salt: header.salt, rounds: header.rounds, count: DataKey.count, limits: limits))
    }
  }

  // MARK: Values

  private func open(
    _ envelope: Data, _ name: KeyName, format: UInt8, under key: DataKey, otherwise: (KeyID) -> StorageError
  ) throws -> Data {
    do {
      return try Envelope.open(envelope, context: context(name, format: format)) { id in
        guard id == key.id else { throw otherwise(id) }
        return key
      }
    } catch is AuthenticationFailure {
      throw StorageError(
        .damaged, "The encrypted value does not open: it was changed, or it was encrypted under another name.",
        advice: "Restore it from a backup.", key: name)
    } catch let error as StorageError {
      throw error.locating(at: "", key: name)
    }
  }

  /// The identity of no store.
  private static let noStore = Data("coffer.envelope\0".utf8)

  private func context(_ name: KeyName, format: UInt8) -> EnvelopeContext {
    EnvelopeContext(store: store, key: name, attributes: .none, format: format)
  }

  /// Returns the key of a policy, which is read once. If that fails, the next call tries again.
  private func key(_ policy: SecurityPolicy.Encryption) async throws -> DataKey {
    let known = keys[policy.keyMaterial]
    let reading = try known ?? read(policy.keyMaterial)
    keys[policy.keyMaterial] = reading
    do { return try await reading.value } catch {
      if keys[policy.keyMaterial] == reading { keys[policy.keyMaterial] = nil }
      throw error
    }
  }

  private func read(_ name: KeyMaterialSource?) throws -> Task<DataKey, any Error> {
    let stores = configuration.opening(.memory()).stores
    let source = try stores.encryption.source(name, stores.keychain)
    return Task { try await RootKeyReader(source).standaloneKey() }
  }
}

extension StorageError {
  fileprivate static func otherPassphrase(_ name: KeyName) -> StorageError {
    StorageError(
      .wrongPassphrase, "The passphrase does not open the value, or the beginning of the value was changed.",
      advice: "Try again with the right one, or restore the value from a backup.", key: name)
  }

  fileprivate static func otherKey(_ id: KeyID, _ name: KeyName) -> StorageError {
    StorageError(
      .keyUnavailable, "The value was encrypted with another key (\(id.short)).",
      advice: "Use the policy with which it was encrypted.", key: name)
  }
}
