import CofferCOpenSSL
package import Foundation

/// OpenSSL takes itself down when the process exits, and a thread that still computes something then crashes: it is
/// asked not to, before its first use. The memory goes with the process.
private let isReady = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)

/// SHA-256 (FIPS 180-4): 32 bytes that stand for any number of bytes.
package func sha256(_ data: Data) -> Data {
  _ = isReady
  var digest = Data(count: 32)
  let count = data.count
  let done = digest.withUnsafeMutableBytes { digest in
    data.withUnsafeBytes { EVP_Digest($0.baseAddress, count, digest.baseAddress, nil, EVP_sha256(), nil) }
  }
  precondition(done == 1, "The cryptographic library of the system cannot compute SHA-256, which it always can.")
  return digest
}
