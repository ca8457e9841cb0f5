public import Foundation

/// The name of an external provider of key material.
public struct KeyMaterialSource: Hashable, Sendable, ExpressibleByStringLiteral {
  /// The name of the provider.
  public let id: String
  /// Creates a source with the name of its provider.
  public init(id: String) { self.id = id }
  public init(stringLiteral value: String) { id = value }
}

/// A provider of key material, such as a keychain, a hardware token or a key management service.
///
/// ```swift
/// struct Vault: KeyMaterialProviding {
///   let client: VaultClient
///   func keyMaterial(for source: KeyMaterialSource) async throws -> Data {
///     try await client.decrypt("keys/\(source.id)")
///   }
/// }
/// let key = RootKeySource.provider(Vault(client: client), named: "shop")
/// ```
///
/// The material is secret, has 32 bytes to 64 KiB, at least 32 of them random, and is the same at each call. A store
/// that was created with it can be opened with nothing else. It is copied into locked memory. The returned `Data`
/// itself is released and not wiped, as it may share its bytes with others.
///
/// Both methods are called in a task that is cancelled when the deadline of the source passes, or when the task that
/// opens the store is cancelled. The store does not wait for the end of the call then. A call that has to block belongs
/// on a thread of its own. Any error may be thrown. Its type is reported; its text only if it is a `StorageError`,
/// which must not contain material.
public protocol KeyMaterialProviding: Sendable {
  /// Returns the key material with a name, to open a store that was created with it.
  ///
  /// A provider that has no such material throws, and never returns new material.
  func keyMaterial(for source: KeyMaterialSource) async throws -> Data

  /// Returns the key material with a name, to create a store. A provider may generate the material if it has none.
  ///
  /// Followed by a call of ``keyMaterial(for:)``, which must return the same bytes. If two processes create the same
  /// store at once, both must receive the same material. By default it returns ``keyMaterial(for:)``.
  func createKeyMaterial(for source: KeyMaterialSource) async throws -> Data
}

extension KeyMaterialProviding {
  public func createKeyMaterial(for source: KeyMaterialSource) async throws -> Data {
    try await keyMaterial(for: source)
  }
}
