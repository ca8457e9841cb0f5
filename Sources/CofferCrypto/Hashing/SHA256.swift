import CofferCOpenSSL
package import Foundation

/// SHA-256 (FIPS 180-4): 32 bytes that stand for any number of bytes.
package func sha256(_ data: Data) -> Data {
  _ = OpenSSL.isReady
  var digest = Data(count: 32)
  let count = data.count
  let done = digest.withUnsafeMutableBytes { digest in
    data.withUnsafeBytes { EVP_Digest($0.baseAddress, count, digest.baseAddress, nil, EVP_sha256(), nil) }
  }
  precondition(done == 1, "The cryptographic library of the system cannot compute SHA-256, which it always can.")
  return digest
}
