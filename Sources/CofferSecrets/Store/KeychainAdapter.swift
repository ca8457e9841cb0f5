public import CofferCore
import CofferFileSystem
import CofferFiles
public import Foundation

/// A `StorageAdapter` that stores secrets in the system's keychain.
///
/// ```swift
/// let adapter = KeychainAdapter(service: "com.example.shop")
/// try await adapter.set(Data("s3cret".utf8), for: "api-token", accessibility: .afterFirstUnlock)
/// ```
///
/// On Linux this is the desktop's keyring. A locked or missing keyring is an error and is never reported as a missing
/// secret. The user is never prompted. On machines without a desktop use a sealed file, or a ``SecretChain``, which
/// supports both.
///
/// The adapter is a thin actor over `SlotEngine`; use the engine directly for batches and changes.
public actor KeychainAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = StoreOrigin()
  private let configured: AuthenticationContext?

  /// Creates an adapter on the open engine of a keychain or a sealed file.
  public init(engine: any StorageEngine) {
    self.engine = engine
    configured = nil
  }

  /// The context that asks before a secret with an access control is read.
  private var authentication: AuthenticationContext? {
    configured ?? engine.as(SlotEngine.self)?.authentication
  }

  /// Opens the secrets of a service and blocks meanwhile: for some milliseconds, or once for the configuration's
  /// timeout if the keyring or its bus does not answer. Callers that open other stores are not delayed.
  ///
  /// Opening never throws. While the keyring cannot be used, every operation of the adapter tries to open it again and
  /// throws the reason. In asynchronous code prefer ``open(service:accessGroup:configuration:)``.
  /// - Parameters:
  ///   - service: the service that the secrets belong to, 1 to 256 bytes.
  ///   - accessGroup: a group of applications that share the secrets. It is not enforced on Linux.
  ///   - configuration: the options of the keychain.
  public init(
    service: String, accessGroup: String? = nil, configuration: KeychainConfiguration = KeychainConfiguration()
  ) {
    configured = configuration.authentication
    do {
      engine = try SlotEngine.keychainBlocking(
        service: service, accessGroup: accessGroup, configuration: configuration)
    } catch {
      let system = SystemDirectories.current
      engine = SlotEngine.reopening(
        after: error, description: "keychain:\(service.escapingControlCharacters)", configuration.store.forSecrets,
        keepsSecrets: true
      ) {
        try await SystemDirectories.$current.withValue(system) {
          try await SlotEngine.keychain(service: service, accessGroup: accessGroup, configuration: configuration)
        }
      }
    }
  }

  /// Opens the secrets of a service without blocking the caller.
  /// - Throws: What `SlotEngine.keychain(service:accessGroup:configuration:)` throws.
  public static func open(
    service: String, accessGroup: String? = nil, configuration: KeychainConfiguration = KeychainConfiguration()
  ) async throws -> KeychainAdapter {
    KeychainAdapter(
      engine: try await SlotEngine.keychain(
        service: service, accessGroup: accessGroup, configuration: configuration))
  }

  /// Stores a secret with an accessibility class, replacing any existing one.
  /// - Parameters:
  ///   - data: the secret, at most 64 KiB. For larger data store an encryption key here and the ciphertext in a file.
  ///   - key: the key of the secret, which every program of the session can read.
  ///   - accessibility: when the secret may be read; the configuration's class by default.
  ///   - accessControl: the user confirmation required to read the secret, by every reader that uses this library.
  ///     It is refused unless ``KeychainConfiguration/authentication`` supports it.
  ///   - transaction: the transaction id of the commit; a new one by default.
  /// - Throws: `StorageError`: `unavailable`, `valueTooLarge`, `unsupported` for an access control that no
  ///   authenticator can establish.
  @discardableResult
  public func set(
    _ data: Data, for key: String, accessibility: KeychainAccessibility? = nil,
    accessControl: KeychainAccessControl? = nil, transaction: TransactionID? = nil
  ) async throws -> StoreCommit {
    let key = try KeyName(key)
    if let accessControl, authentication?.supports(accessControl) != true {
      throw StorageError.noAuthenticator(for: accessControl).locating(at: engine.description, key: key)
    }
    let batch = WriteBatch([.put(key, data, ValueAttributes(accessibility, accessControl))], transaction: transaction)
    return try await engine.commit(batch, from: origin)
  }

  /// Returns the secret of a key, or `nil` if there is none.
  ///
  /// The user is asked first if the secret has an access control.
  /// - Throws: `StorageError`; `unavailable` if its existence cannot be determined or if the user does not answer;
  ///   `authenticationFailed`, `authenticationCancelled`; `unsupported` without an authenticator that can ask.
  public func get(_ key: String) async throws -> Data? { try await engine.entry(KeyName(key))?.value }

  /// Returns the accessibility class of a secret, or `nil` if there is no such secret or another program stored it.
  /// - Throws: `StorageError`.
  public func accessibility(of key: String) async throws -> KeychainAccessibility? {
    let key = try KeyName(key)
    return try await engine.summary(of: key)?.attributes.accessibility
  }

  /// Returns the access control that is stored with a secret, or `nil` if there is none. The user is not asked.
  /// - Throws: `StorageError`.
  public func accessControl(of key: String) async throws -> KeychainAccessControl? {
    let key = try KeyName(key)
    return try await engine.summary(of: key)?.attributes.accessControl
  }

  /// Returns the keys that start with `prefix`, sorted by their UTF-8 bytes, without reading any secret. Takes time
  /// linear in the number of keys.
  /// - Throws: `StorageError`.
  public func list(prefix: String? = nil) async throws -> [String] {
    try await engine.summaries(prefix: prefix.map { try KeyName($0) }).map(\.key.string)
  }

  /// Deletes every secret of this service and access group, and nothing else.
  /// - Throws: `StorageError`.
  public func deleteAll() async throws { try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: origin) }
}

extension ValueAttributes {
  /// The accessibility class of a secret, or `nil` if none was recorded.
  package var accessibility: KeychainAccessibility? { self[.accessibility].flatMap(KeychainAccessibility.init) }

  /// Creates attributes with an accessibility class and an access control.
  package init(_ accessibility: KeychainAccessibility?, _ control: KeychainAccessControl? = nil) {
    self.init()
    self[.accessibility] = accessibility?.rawValue
    accessControl = control
  }
}
