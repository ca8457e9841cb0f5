package import Foundation

/// Returns the SHA-256 digest of the data (FIPS 180-4), 32 bytes.
package func sha256(_ data: Data) -> Data {
  let digest = try? Data(writing: 32) { digest in
    try data.withUnsafeBytes { try Cryptography.digest($0, into: digest) }
  }
  guard let digest else { preconditionFailure("The system's cryptographic library cannot compute SHA-256.") }
  return digest
}
