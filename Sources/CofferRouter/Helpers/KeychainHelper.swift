import Coffer
public import CofferCore
public import CofferSecrets
public import Foundation

/// Access to secrets by service and key, without a declared key.
///
/// ```swift
/// let helper = KeychainHelper()
/// try await helper.set(Data("s3cret".utf8), service: "com.example.shop", key: "token")
/// ```
///
/// Each service is opened once. A locked keyring is an error and never reported as a missing secret.
public actor KeychainHelper {
  /// The shared helper, with the default settings.
  public static let shared = KeychainHelper()

  private let configuration: StorageConfiguration
  private var adapters: [ExactText: KeychainAdapter] = [:]

  /// Creates a helper.
  /// - Parameter configuration: the settings with which keychains are opened.
  public init(configuration: StorageConfiguration = StorageConfiguration()) { self.configuration = configuration }

  private func adapter(_ service: String) async throws -> KeychainAdapter {
    let name = ExactText(service)
    if let adapter = adapters[name] { return adapter }
    let adapter = try await KeychainAdapter.open(service: service, configuration: configuration.stores.keychain)
    if let other = adapters[name] { return other }  // opened meanwhile
    adapters[name] = adapter
    return adapter
  }

  /// Stores a secret, replacing any existing one.
  /// - Throws: `StorageError`: `unavailable`, `valueTooLarge`, `unsupported` for an access control that
  ///   ``StorageConfiguration/authentication`` does not support.
  public func set(
    _ data: Data, service: String, key: String, accessibility: KeychainAccessibility = .whenUnlocked,
    accessControl: KeychainAccessControl? = nil
  ) async throws {
    try await adapter(service).set(data, for: key, accessibility: accessibility, accessControl: accessControl)
  }

  /// Returns a secret, or `nil` when it is proven absent. The user is asked first if it has an access control.
  /// - Throws: `StorageError`: `authenticationFailed`, `authenticationCancelled`, `unavailable`.
  public func get(service: String, key: String) async throws -> Data? { try await adapter(service).get(key) }

  /// Deletes a secret. Deleting a missing secret is not an error.
  /// - Throws: `StorageError`.
  public func delete(service: String, key: String) async throws { try await adapter(service).delete(key: key) }

  /// Returns whether there is a secret; `false` means proven absent.
  /// - Throws: `StorageError` when it cannot be determined.
  public func exists(service: String, key: String) async throws -> Bool {
    try await adapter(service).engine.contains(KeyName(key))
  }

  /// Deletes every secret of a service.
  /// - Throws: `StorageError`.
  public func deleteAll(service: String) async throws { try await adapter(service).deleteAll() }
}
