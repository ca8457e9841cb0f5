import CofferRouter
import Foundation

/// A provider of known key material.
struct FixedKeyMaterial: KeyMaterialProviding {
  let first: UInt8
  func keyMaterial(for source: KeyMaterialSource) async throws -> Data { Data(first..<first + 32) }
}

/// A provider that is locked.
struct LockedKeyMaterial: KeyMaterialProviding {
  func keyMaterial(for source: KeyMaterialSource) async throws -> Data {
    throw StorageError(.unavailable, "The keyring is locked.", advice: "Unlock it.")
  }
}
