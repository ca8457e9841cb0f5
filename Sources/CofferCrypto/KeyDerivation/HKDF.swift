import CofferCOpenSSL
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
  _ = OpenSSL.isReady
  // OSSL_PARAM would retain the addresses of names and values, and those of Swift values do not stay valid.
  guard let context = EVP_PKEY_CTX_new_id(EVP_PKEY_HKDF, nil) else {
    throw OpenSSL.failure("it does not have HKDF", .unsupported)
  }
  defer { EVP_PKEY_CTX_free(context) }
  let isSet =
    EVP_PKEY_derive_init(context) == 1 && EVP_PKEY_CTX_set_hkdf_md(context, EVP_sha256()) == 1
    && key.withUnsafeBytes { EVP_PKEY_CTX_set1_hkdf_key(context, $0.octets, Int32($0.count)) } == 1
    && (salt.isEmpty
      || salt.withUnsafeBytes { EVP_PKEY_CTX_set1_hkdf_salt(context, $0.octets, Int32($0.count)) } == 1)
    && (info.isEmpty
      || info.withUnsafeBytes { EVP_PKEY_CTX_add1_hkdf_info(context, $0.octets, Int32($0.count)) } == 1)
  guard isSet else { throw OpenSSL.failure("it could not prepare HKDF") }
  return try SecretBytes(count: count) { bytes in
    var written = bytes.count
    guard EVP_PKEY_derive(context, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), &written) == 1,
      written == bytes.count
    else { throw OpenSSL.failure("it could not derive a key") }
  }
}
