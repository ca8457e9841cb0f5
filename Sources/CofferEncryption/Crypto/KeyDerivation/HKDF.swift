import CofferCore
package import Foundation

/// Derives a key for one purpose from another key with HKDF-SHA-256 (RFC 5869). It does not protect a passphrase; use
/// `scrypt` for that.
///
/// - Parameters:
///   - salt: The salt, at most 1 KiB; may be empty.
///   - info: The purpose, at most 1 KiB.
///   - count: The size of the derived key in bytes, 1 to 8,160.
package func hkdfSHA256(_ key: SecretBytes, salt: Data, info: Data, count: Int) throws -> SecretBytes {
  guard key.count > 0, count > 0, count <= 255 * 32, info.count <= 1024, salt.count <= 1024 else {
    throw StorageError(.unsupported, "HKDF cannot derive \(count) bytes from this key of \(key.count) bytes.")
  }
  return try SecretBytes(count: count) { derived in
    try key.withUnsafeBytes { key in
      try salt.withUnsafeBytes { salt in
        try info.withUnsafeBytes { try Cryptography.hkdf(key, salt: salt, info: $0, into: derived) }
      }
    }
  }
}
