import CofferCZlib
import CofferCore
import Foundation

/// CRC-32 (as in zlib, RFC 1952) of the key followed by the value: a value under another key does not pass either.
///
/// It finds damage, not tampering.
func checksum(_ key: Key, _ value: UnsafeRawBufferPointer) -> UInt32 {
  let seed = key.withBytes { crc32(0, $0.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt32($0.count)) }
  guard let start = value.baseAddress?.assumingMemoryBound(to: UInt8.self), value.count > 0 else { return UInt32(seed) }
  return UInt32(crc32(seed, start, UInt32(value.count)))
}

func checksum(_ key: Key, _ value: Data) -> UInt32 {
  value.withUnsafeBytes { checksum(key, $0) }
}
