package import Foundation

/// Returns the HMAC-SHA-256 of a message (RFC 2104, FIPS 198-1), 32 bytes. Compare it with `areEqual(_:_:)`.
/// - Parameter key: a key of any size; 32 random bytes are best.
package func hmacSHA256(_ key: SecretBytes, _ message: Data) throws -> Data {
  let mac = try key.withUnsafeBytes { try Cryptography.PreparedMAC(key: $0) }
  return try Data(writing: 32) { code in
    try message.withUnsafeBytes { try mac.authenticate($0, into: code) }
  }
}

/// Returns whether two authentication codes are equal, in time that depends on their sizes and not on their bytes.
package func areEqual(_ left: Data, _ right: Data) -> Bool {
  left.withUnsafeBytes { left in
    right.withUnsafeBytes { right in Cryptography.areEqual(left, right) }
  }
}
