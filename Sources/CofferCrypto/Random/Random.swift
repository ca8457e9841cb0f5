import CofferCOpenSSL
package import CofferCore
package import Foundation

/// Returns cryptographically secure random bytes, for nonces and salts.
package func randomBytes(_ count: Int) throws(StorageError) -> Data {
  var bytes = Data(count: count)
  let done = bytes.withUnsafeMutableBytes { fillWithRandomBytes($0, by: RAND_bytes) }
  guard done else { throw noRandomBytes() }
  return bytes
}

extension SecretBytes {
  /// Creates random key material, from OpenSSL's separate generator for bytes that are never public.
  package static func random(count: Int) throws -> SecretBytes {
    try SecretBytes(count: count) { bytes in
      guard fillWithRandomBytes(bytes, by: RAND_priv_bytes) else { throw noRandomBytes() }
    }
  }
}

/// Fills a buffer in parts, since OpenSSL counts in 32 bits. Returns whether it succeeded.
private func fillWithRandomBytes(
  _ bytes: UnsafeMutableRawBufferPointer, by generate: (UnsafeMutablePointer<UInt8>?, Int32) -> Int32
) -> Bool {
  _ = OpenSSL.isReady
  var rest = bytes[...]
  while !rest.isEmpty {
    let part = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(1 << 30))
    guard generate(part.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(part.count)) == 1 else { return false }
    rest = rest.dropFirst(part.count)
  }
  return true
}

private func noRandomBytes() -> StorageError { OpenSSL.failure("it could not generate random bytes", .unavailable) }
