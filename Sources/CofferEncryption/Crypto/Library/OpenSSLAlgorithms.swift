import CofferCOpenSSL
import Foundation

/// The algorithms of OpenSSL and the texts that name its parameters. Fetching an algorithm takes longer than sealing a
/// small message, so each is fetched once.
///
/// Unchecked since the pointers are constants, their objects are never changed or freed, and OpenSSL counts references
/// to them atomically.
struct OpenSSLAlgorithms: @unchecked Sendable {
  let aes256GCM: OpaquePointer?
  let chaCha20Poly1305: OpaquePointer?
  let sha256: OpaquePointer?
  let hkdf: OpaquePointer?

  // OpenSSL keeps the addresses of the names and values of its parameters, and those of Swift strings do not stay
  // valid.
  private let digestName = strdup("digest")
  private let digestValue = strdup("SHA256")
  private let keyName = strdup("key")
  private let saltName = strdup("salt")
  private let infoName = strdup("info")

  /// An address for an empty buffer, where OpenSSL does not accept a null pointer.
  let noBytes = UnsafePointer(UnsafeMutablePointer<UInt8>.allocate(capacity: 1))

  /// Bytes that are zero.
  let zeros: UnsafeMutableRawPointer
  static let zerosCount = 512

  init() {
    zeros = .allocate(byteCount: Self.zerosCount, alignment: 64)
    zeros.initializeMemory(as: UInt8.self, repeating: 0, count: Self.zerosCount)
    _ = OpenSSL.isReady
    aes256GCM = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)
    chaCha20Poly1305 = EVP_CIPHER_fetch(nil, "ChaCha20-Poly1305", nil)
    sha256 = EVP_MD_fetch(nil, "SHA256", nil)
    hkdf = EVP_KDF_fetch(nil, "HKDF", nil)
    ERR_clear_error()
  }

  /// The parameters that select SHA-256.
  var digest: [OSSL_PARAM] {
    [OSSL_PARAM_construct_utf8_string(digestName, digestValue, 0), OSSL_PARAM_construct_end()]
  }

  /// The parameters of HKDF-SHA-256.
  func hkdf(
    _ key: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, info: UnsafeRawBufferPointer
  ) -> [OSSL_PARAM] {
    var parameters = [parameter(keyName, key)]
    if !salt.isEmpty { parameters.append(parameter(saltName, salt)) }
    if !info.isEmpty { parameters.append(parameter(infoName, info)) }
    return parameters + digest
  }

  private func parameter(_ name: UnsafeMutablePointer<CChar>?, _ bytes: UnsafeRawBufferPointer) -> OSSL_PARAM {
    // OpenSSL only reads it; the parameter is not `const` because other operations write to it.
    OSSL_PARAM_construct_octet_string(name, UnsafeMutableRawPointer(mutating: bytes.baseAddress), bytes.count)
  }
}
