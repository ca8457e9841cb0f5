import CofferCrypto
import CofferEncryption
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
/// instead: their encryption key can be rotated, and this one cannot.
public actor EncryptionHelper {
  /// The shared helper, with the default settings.
  public static let shared = EncryptionHelper()

  private let configuration: StorageConfiguration
  private var keys: [KeyMaterialSource?: Task<DataKey, any Error>] = [:]

  /// Creates a helper.
  /// - Parameter configuration: the settings, whose ``StorageConfiguration/encryption`` has the sources of keys.
  public init(configuration: StorageConfiguration = StorageConfiguration()) { self.configuration = configuration }

  /// Encrypts a value. The result has 80 bytes more.
  /// - Parameters:
  ///   - data: the value.
  ///   - name: the name to which the result is bound.
  ///   - policy: the algorithm and the source of the key.
  /// - Throws: `invalidKey` for an invalid name; `unavailable` if the key cannot be read; `valueTooLarge`.
  public func encrypt(_ data: Data, name: String, policy: EncryptionPolicy) async throws -> Data {
    let name = try StoreKey(name)
    return try Envelope.seal(
      data, under: try await key(policy), context: Self.context(name), algorithm: policy.algorithm.cipher,
      isPadded: false)
  }

  /// Decrypts a value.
  /// - Parameters:
  ///   - data: the result of ``encrypt(_:name:policy:)``.
  ///   - name: the name with which it was encrypted.
  ///   - policy: the source of the key. The algorithm is that of the encrypted value.
  /// - Throws: `damaged` if the value was changed or has another name; `keyUnavailable` if it was encrypted with
  ///   another key; `newerFormat`; `invalidKey` for an invalid name; `unavailable` if the key cannot be read.
  public func decrypt(_ data: Data, name: String, policy: EncryptionPolicy) async throws -> Data {
    let name = try StoreKey(name)
    let key = try await key(policy)
    do {
      return try Envelope.open(data, context: Self.context(name)) { id in
        guard id == key.id else { throw StorageError.otherKey(id, name) }
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

  private static func context(_ name: StoreKey) -> EnvelopeContext {
    EnvelopeContext(store: noStore, key: name, attributes: .none, format: 4)
  }

  /// Returns the key of a policy, which is read once. If that fails, the next call tries again.
  private func key(_ policy: EncryptionPolicy) async throws -> DataKey {
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
  fileprivate static func otherKey(_ id: KeyID, _ name: StoreKey) -> StorageError {
    StorageError(
      .keyUnavailable, "The value was encrypted with another key (\(id.short)).",
      advice: "Use the policy with which it was encrypted.", key: name)
  }
}
