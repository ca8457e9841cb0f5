public import CofferCore
import CofferFileSystem
import CofferSlots
public import Foundation

/// A `StorageAdapter` that keeps secrets in the system's keychain (documents 1 and 4).
///
/// ```swift
/// let adapter = KeychainAdapter(service: "com.example.shop")
/// try await adapter.set(Data("s3cret".utf8), for: "api-token", accessibility: .afterFirstUnlock)
/// ```
///
/// On Linux it is the desktop's keyring. A locked or missing keyring is an error, never "there is no such secret"; it
/// never asks the user anything. Where no desktop is, use a sealed file, or ``SecretChain`` for both.
///
/// It is a thin actor over `SlotEngine`; use the engine directly for batches and changes.
public actor KeychainAdapter: EngineBacked {
  public nonisolated let engine: any StorageEngine
  public nonisolated let origin = StoreOrigin()

  /// A handle on an open engine: a keychain or a sealed file.
  public init(engine: any StorageEngine) { self.engine = engine }

  /// Opens the secrets of a service, and blocks while it does: some milliseconds, and where the keyring or its bus does
  /// not answer, the configuration's timeout once. Who opens another store does not wait for it.
  ///
  /// It does not throw, as in the project that document 1 comes from: while the keyring cannot be used, every use of
  /// the adapter tries again and throws why. In asynchronous code prefer ``open(service:accessGroup:configuration:)``.
  /// - Parameters:
  ///   - service: whose secrets they are, 1 to 256 bytes.
  ///   - accessGroup: a group of applications that share them. Nothing on Linux keeps others out.
  ///   - configuration: how it is opened.
  public init(
    service: String, accessGroup: String? = nil, configuration: KeychainConfiguration = KeychainConfiguration()
  ) {
    do {
      engine = try SlotEngine.keychainBlocking(
        service: service, accessGroup: accessGroup, configuration: configuration)
    } catch {
      let system = SystemDirectories.current
      engine = SlotEngine.reopening(
        after: error, description: "keychain:\(service.escapingControlCharacters)", configuration.store.forSecrets
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

  /// Stores a secret and the class that it asks for.
  /// - Parameters:
  ///   - data: up to 64 KiB. Keep a key here and what it encrypts in a file.
  ///   - key: of the secret; every program of the session can read it.
  ///   - accessibility: when it may be read; the configuration's class unless given.
  ///   - accessControl: who must be there when it is read: refused, since nothing here can enforce it yet.
  ///   - transaction: the commit's transaction id; a new one unless given.
  /// - Throws: `StorageError`: `unavailable`, `valueTooLarge`, `unsupported` for an access control.
  @discardableResult
  public func set(
    _ data: Data, for key: String, accessibility: KeychainAccessibility? = nil,
    accessControl: KeychainAccessControl? = nil, transaction: TransactionID? = nil
  ) async throws -> StoreCommit {
    let key = try StoreKey(key)
    if let accessControl {
      throw StorageError(
        .unsupported, "No authenticator is here that could enforce '\(accessControl)'.",
        advice: "Store the secret without access control, if that is enough for it. Nothing was written.",
        backend: engine.description, key: key)
    }
    let batch = WriteBatch([.put(key, data, ValueAttributes(accessibility))], transaction: transaction)
    return try await engine.commit(batch, from: origin)
  }

  /// The secret; `nil` when there is none.
  /// - Throws: `StorageError`; `unavailable` when nobody can tell.
  public func get(_ key: String) async throws -> Data? { try await engine.entry(StoreKey(key))?.value }

  /// The class that a secret was stored with; `nil` when there is none, or when another program has stored it.
  /// - Throws: `StorageError`.
  public func accessibility(of key: String) async throws -> KeychainAccessibility? {
    let key = try StoreKey(key)
    return try await engine.entry(key)?.attributes.accessibility
  }

  /// The keys that start with `prefix`, in the order of their bytes. Linear in their number; reads no secret.
  /// - Throws: `StorageError`.
  public func list(prefix: String? = nil) async throws -> [String] {
    try await engine.summaries(prefix: prefix.map { try StoreKey($0) }).map(\.key.string)
  }

  /// Deletes every secret of this service and access group, and nothing else.
  /// - Throws: `StorageError`.
  public func deleteAll() async throws { try await engine.commit(WriteBatch([.clear(prefix: nil)]), from: origin) }
}

extension ValueAttribute<UInt8> {
  /// When a secret may be read: a ``KeychainAccessibility``.
  static let accessibility = ValueAttribute(code: 2)
}

extension ValueAttributes {
  /// When a secret may be read; `nil` unless it was said.
  package var accessibility: KeychainAccessibility? { self[.accessibility].flatMap(KeychainAccessibility.init) }

  /// What says when a secret may be read.
  package init(_ accessibility: KeychainAccessibility?) {
    self.init()
    self[.accessibility] = accessibility?.rawValue
  }
}
