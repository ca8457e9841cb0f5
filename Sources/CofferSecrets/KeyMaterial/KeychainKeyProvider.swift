import CofferCore
public import CofferEncryption
import CofferFiles
public import Foundation

/// A provider that keeps the key material of encrypted stores in the system's keychain, on Linux the desktop's keyring.
///
/// The material is generated when a store is created: 32 random bytes as 64 hexadecimal digits, in the item of the
/// service whose account is the name of the material. To keep a copy outside of the keyring, which opens the store as a
/// file with key material:
///
/// ```
/// $ secret-tool lookup service com.example.shop account encryption-key > key
/// ```
///
/// Two processes that create a store at once receive the same material. A missing item never leads to new material for
/// a store that exists: opening it throws `notFound`. A locked or missing keyring is `unavailable`.
public struct KeychainKeyProvider: KeyMaterialProviding {
  private let service: String
  private let accessGroup: String?
  private let configuration: KeychainConfiguration

  /// Creates a provider. Nothing is opened yet.
  /// - Parameters:
  ///   - service: the service that the items belong to, 1 to 256 bytes.
  ///   - accessGroup: a group of applications that share the items. It is not enforced on Linux.
  ///   - configuration: the options of the keychain.
  public init(
    service: String, accessGroup: String? = nil, configuration: KeychainConfiguration = KeychainConfiguration()
  ) {
    self.service = service
    self.accessGroup = accessGroup
    self.configuration = configuration
  }

  /// Returns the material of an existing item.
  /// - Throws: `notFound` if the keychain has no such item, `unavailable`, and the errors of the keychain.
  public func keyMaterial(for source: KeyMaterialSource) async throws -> Data {
    try await withEngine { engine in
      if let material = try await engine.entry(KeyName(source.id))?.value { return material }
      throw StorageError(
        .notFound, "The keychain has no key material named '\(source.id.escapingControlCharacters)'.",
        advice:
          "Restore the item from a backup of the keychain: the store can be opened with nothing else. Nothing was "
          + "changed.", location: engine.description)
    }
  }

  /// Returns the material of an item, which is generated if the keychain has no such item.
  /// - Throws: `unavailable`, `readOnly`, and the errors of the keychain.
  public func createKeyMaterial(for source: KeyMaterialSource) async throws -> Data {
    let key = try KeyName(source.id)
    return try await withEngine { engine in
      if let material = try await engine.entry(key)?.value { return material }
      let material = try SecretBytes.random(count: 32).hexadecimalDigits
      do {
        try await engine.commit(WriteBatch([.require(key, nil), .put(key, material)]), from: StoreOrigin())
        return material
      } catch let error as StorageError where error.code == .preconditionFailed {
        // Another process was first.
        guard let material = try await engine.entry(key)?.value else { throw error }
        return material
      }
    }
  }

  private func withEngine(_ body: (SlotEngine) async throws -> Data) async throws -> Data {
    try await SlotEngine.withKeychain(
      service: service, accessGroup: accessGroup, configuration: configuration, body)
  }
}

extension KeychainKeyProvider: Hashable {
  /// Returns whether two providers use the same items.
  public static func == (left: KeychainKeyProvider, right: KeychainKeyProvider) -> Bool {
    left.service.utf8.elementsEqual(right.service.utf8)
      && (left.accessGroup.map { Array($0.utf8) } == right.accessGroup.map { Array($0.utf8) })
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(Array(service.utf8)) }
}

extension RootKeySource {
  /// Key material in the system's keychain, which is generated when the store is created; see ``KeychainKeyProvider``.
  ///
  /// ```swift
  /// let key = RootKeySource.keychain(service: "com.example.shop")
  /// ```
  /// - Parameters:
  ///   - service: the service that the item belongs to, 1 to 256 bytes.
  ///   - item: the name of the item. Stores with the same item share their root material, not their keys.
  ///   - configuration: the options of the keychain.
  public static func keychain(
    service: String, item: KeyMaterialSource = "encryption-key",
    configuration: KeychainConfiguration = KeychainConfiguration()
  ) -> RootKeySource {
    .provider(KeychainKeyProvider(service: service, configuration: configuration), named: item)
  }
}

extension SecretBytes {
  /// The bytes as lower-case hexadecimal digits, wiped when the last reference is released.
  fileprivate var hexadecimalDigits: Data {
    get throws {
      let digits = Array("0123456789abcdef".utf8)
      let text = try SecretBytes(count: count * 2) { text in
        withUnsafeBytes { bytes in
          for (index, byte) in bytes.enumerated() {
            text[2 * index] = digits[Int(byte >> 4)]
            text[2 * index + 1] = digits[Int(byte & 15)]
          }
        }
      }
      return SecretSlice(text, 0..<text.count).copy
    }
  }
}
