import CofferCOpenSSL
package import Foundation

/// Returns the SHA-256 digest of the data (FIPS 180-4), 32 bytes.
package func sha256(_ data: Data) -> Data {
  _ = OpenSSL.isReady
  var digest = Data(count: 32)
  let count = data.count
  let done = digest.withUnsafeMutableBytes { digest in
    data.withUnsafeBytes { EVP_Digest($0.baseAddress, count, digest.baseAddress, nil, EVP_sha256(), nil) }
  }
  precondition(done == 1, "The system's cryptographic library cannot compute SHA-256.")
  return digest
}
