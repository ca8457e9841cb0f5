package import CofferCore
package import Foundation

/// Returns cryptographically secure random bytes for nonces and salts, which are public.
package func randomBytes(_ count: Int) throws(StorageError) -> Data {
  var bytes = Data(count: count)
  let failure = bytes.withUnsafeMutableBytes { bytes -> StorageError? in
    do throws(StorageError) { try RandomPool.shared.fill(bytes) } catch { return error }
    return nil
  }
  if let failure { throw failure }
  return bytes
}

extension SecretBytes {
  /// Creates random key material, from the library's separate generator for bytes that are never public.
  package static func random(count: Int) throws -> SecretBytes {
    try SecretBytes(count: count) { try Cryptography.fillWithRandomBytes($0, isSecret: true) }
  }
}
